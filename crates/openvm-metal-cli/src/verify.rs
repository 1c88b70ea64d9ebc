//! `openvm-metal verify`: a proof from a file against a verifying key from a file.

use std::path::{Path, PathBuf};

use clap::Args;
use openvm_stark_backend::{
    codec::Decode, keygen::types::MultiStarkVerifyingKey, proof::Proof, StarkEngine,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::{BabyBearPoseidon2RefEngine, DuplexSponge};

use crate::{
    circuits::SC,
    error::{CliError, Result},
    table,
};

#[derive(Args, Debug)]
pub struct VerifyArgs {
    /// The proof, as `prove --out` writes it.
    proof: PathBuf,
    /// The verifying key, as `prove --vk` writes it.
    vk: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// If a file cannot be read or decoded, or the proof is not valid.
pub fn run(args: &VerifyArgs) -> Result<()> {
    let corrupt = |path: &Path, what: &'static str, reason: String| CliError::Corrupt {
        path: path.display().to_string(),
        what,
        reason,
    };
    let proof = Proof::<SC>::decode_from_bytes(&read(&args.proof)?)
        .map_err(|error| corrupt(&args.proof, "proof", error.to_string()))?;
    let bytes = read(&args.vk)?;
    let (vk, rest) = postcard::take_from_bytes::<MultiStarkVerifyingKey<SC>>(&bytes)
        .map_err(|error| corrupt(&args.vk, "verifying key", error.to_string()))?;
    if !rest.is_empty() {
        let reason = format!("{} bytes too many", rest.len());
        return Err(corrupt(&args.vk, "verifying key", reason));
    }
    let engine = BabyBearPoseidon2RefEngine::<DuplexSponge>::new(vk.inner.params.clone());
    engine
        .verify(&vk, &proof)
        .map_err(|error| CliError::Rejected(error.to_string()))?;
    table::line("the proof is valid")
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|source| CliError::Read {
        path: path.display().to_string(),
        source,
    })
}
