//! `openvm-metal verify circuit`: a proof of a built-in circuit from a file against a verifying key from a file.

use std::{
    panic::{catch_unwind, AssertUnwindSafe},
    path::{Path, PathBuf},
};

use clap::Args;
use openvm_stark_backend::{
    codec::Decode, hasher::MerkleHasher, keygen::types::MultiStarkVerifyingKey, proof::Proof,
    StarkEngine, StarkProtocolConfig,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::{BabyBearPoseidon2RefEngine, DuplexSponge, F};
use p3_field::PrimeCharacteristicRing;

use super::catalogue::SC;
use crate::{
    error::{CliError, Result},
    interrupt, table,
};

#[derive(Args, Debug)]
pub struct VerifyCircuitArgs {
    /// The proof, as `circuit --out` writes it.
    proof: PathBuf,
    /// The verifying key, as `circuit --vk` writes it.
    vk: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// If a file cannot be read or decoded, or the proof is not valid.
pub fn run(args: &VerifyCircuitArgs) -> Result<()> {
    interrupt::at_once();
    let bytes = read(&args.proof)?;
    let proof = Proof::<SC>::decode_from_bytes(&bytes)
        .map_err(|error| corrupt(&args.proof, "proof", error.to_string()))?;
    // A proof begins with the version of the encoding, which the hash of a key contains.
    let version = bytes.first_chunk().copied().unwrap_or_default();
    let vk = key(&args.vk, &read(&args.vk)?, version)?;
    let engine = BabyBearPoseidon2RefEngine::<DuplexSponge>::new(vk.inner.params.clone());

    // The verifier trusts its key, and may panic on a malicious one.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let outcome = catch_unwind(AssertUnwindSafe(|| engine.verify(&vk, &proof)));
    std::panic::set_hook(hook);
    match outcome {
        Ok(Ok(())) => table::line("the proof is valid"),
        Ok(Err(error)) => Err(CliError::Rejected(error.to_string())),
        Err(_) => Err(CliError::Rejected(
            "the verifier cannot work with it".into(),
        )),
    }
}

/// Decodes a key and compares it with the hash that it contains.
fn key(path: &Path, bytes: &[u8], version: [u8; 4]) -> Result<MultiStarkVerifyingKey<SC>> {
    let refuse = |reason: String| corrupt(path, "verifying key", reason);
    let (vk, rest) = postcard::take_from_bytes::<MultiStarkVerifyingKey<SC>>(bytes)
        .map_err(|error| refuse(error.to_string()))?;
    if !rest.is_empty() {
        return Err(refuse(format!("{} bytes too many", rest.len())));
    }
    // As `MultiStarkKeygenBuilder::generate_pk` hashes it.
    let inner = postcard::to_allocvec(&vk.inner).map_err(|error| refuse(error.to_string()))?;
    let length = (inner.len() as u64).to_le_bytes();
    let hashed = version.into_iter().chain(length).chain(inner);
    let hashed: Vec<F> = hashed.map(F::from_u8).collect();
    let config = SC::default_from_params(vk.inner.params.clone());
    if config.hasher().hash_slice(&hashed) != vk.pre_hash {
        return Err(refuse("its contents do not match its hash".into()));
    }
    Ok(vk)
}

fn corrupt(path: &Path, what: &'static str, reason: String) -> CliError {
    CliError::Corrupt {
        path: path.display().to_string(),
        what,
        reason,
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|source| CliError::Read {
        path: path.display().to_string(),
        source,
    })
}
