//! `openvm-metal verify circuit`: a proof of a built-in circuit from a file against a verifying key from a file.

use std::path::PathBuf;

use clap::Args;
use openvm_metal_sdk::{catch_panic, check_key, files, key_hash};
use openvm_stark_backend::StarkEngine;
use openvm_stark_sdk::config::baby_bear_poseidon2::{BabyBearPoseidon2RefEngine, DuplexSponge};
use serde::Serialize;

use crate::{
    error::{CliError, Result},
    interrupt, table,
    trust::TrustArgs,
};

#[derive(Args, Debug)]
pub struct VerifyCircuitArgs {
    /// Proof, as `circuit --out` writes it.
    proof: PathBuf,
    /// Verifying key, as `circuit --vk` writes it.
    vk: PathBuf,
    /// Compare the hash of the key with HASH, as `circuit --vk` prints it.
    #[arg(long, value_name = "HASH")]
    vk_hash: Option<String>,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

/// A verified proof.
#[derive(Serialize)]
struct Report {
    valid: bool,
    vk_hash: String,
    security_bits: f64,
}

/// Runs the command.
///
/// # Errors
/// If a file cannot be read or decoded, or the proof is not valid.
pub fn run(args: &VerifyCircuitArgs) -> Result<()> {
    interrupt::at_once();
    let proof = files::read_circuit_proof(&args.proof)?;
    let vk = files::read_circuit_vk(&args.vk)?;
    let bits = check_key(
        "the circuit's verifying key",
        &vk,
        args.trust.min_security_bits(),
    )?;
    let found = key_hash(&vk).to_string();
    match &args.vk_hash {
        Some(expected) if *expected != found => {
            return Err(CliError::OtherKey {
                path: args.vk.clone(),
                found,
                expected: expected.clone(),
            })
        }
        None if !args.trust.trust_vk => return Err(CliError::UntrustedKey {
            path: args.vk.clone(),
            remedy:
                "give --vk-hash HASH, which `openvm-metal circuit` prints when it writes a key; \
                         or --trust-vk if it is yours",
        }),
        _ => {}
    }
    let engine = BabyBearPoseidon2RefEngine::<DuplexSponge>::new(vk.inner.params.clone());
    // The verifier trusts its key, and may panic on a malicious one.
    match catch_panic(|| engine.verify(&vk, &proof)) {
        Ok(Ok(())) if args.json => table::json(&Report {
            valid: true,
            vk_hash: found,
            security_bits: bits,
        }),
        Ok(Ok(())) => table::line(format!(
            "the proof is valid\nkey       {found}\nsecurity  {bits:.1} bits"
        )),
        Ok(Err(error)) => Err(CliError::Rejected(error.to_string())),
        Err(_) => Err(CliError::Rejected(
            "the verifier cannot work with it".into(),
        )),
    }
}
