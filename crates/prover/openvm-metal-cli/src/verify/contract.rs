//! `openvm-metal verify evm`: the contract, run in an EVM of this process.

use std::path::PathBuf;

use openvm_metal_evm::{Contract, EvmError};
use openvm_metal_sdk::files;
use serde::Serialize;

use super::{known_security, Compared, VerifyEvmArgs};
use crate::{
    error::{CliError, Result},
    hex, shown, table,
};

/// A proof that the contract accepted.
#[derive(Serialize)]
struct Report {
    valid: bool,
    public_values: String,
    app_exe_commit: String,
    app_vm_commit: String,
    /// Gas of the call.
    gas: u64,
    /// Bits of security of the STARKs below, if the file of commitments says them.
    security_bits: Option<f64>,
    /// True if everybody knows the secret of the KZG parameters, so that the proof can be forged.
    unsafe_test_params: bool,
    compared_with: Option<PathBuf>,
    /// Parts of the statement that were compared with it: `program`, `virtual machine`.
    compared: &'static [&'static str],
}

/// Runs the command.
///
/// # Errors
/// Errors of files, a contract of unknown origin or of parameters with a public secret, a proof that the contract does not accept.
pub fn run(args: &VerifyEvmArgs) -> Result<()> {
    if !args.common.trust.trust_vk {
        return Err(CliError::UntrustedContract {
            path: args.contract.clone(),
            remedy: "make the contract by `openvm-metal setup --evm` and give --trust-vk",
        });
    }
    let proof = openvm_metal_evm::read_proof(&args.proof)?;
    let contract = Contract::read(&args.contract)?;
    if contract.is_unsafe() && !args.common.trust.allow_insecure {
        return Err(EvmError::Insecure(args.contract.display().to_string()).into());
    }
    if let Some(file) = &args.common.commit {
        let expected = files::read_commit(file)?;
        for (what, found, expected) in [
            (
                "program",
                &proof.app_commit.app_exe_commit,
                &expected.app_exe_commit,
            ),
            (
                "virtual machine",
                &proof.app_commit.app_vm_commit,
                &expected.app_vm_commit,
            ),
        ] {
            if found != expected {
                return Err(CliError::OtherProgram {
                    what,
                    found: found.to_string(),
                    expected: expected.to_string(),
                });
            }
        }
    }
    let bits = known_security(
        [&None, &args.common.commit],
        args.common.trust.min_security_bits(),
    )?;
    let gas = contract.verify(&proof)?;
    let compared = args.common.commit.as_ref().map(Compared::whole);
    let report = Report {
        valid: true,
        public_values: hex::encode(&proof.user_public_values),
        app_exe_commit: proof.app_commit.app_exe_commit.to_string(),
        app_vm_commit: proof.app_commit.app_vm_commit.to_string(),
        gas,
        security_bits: bits,
        unsafe_test_params: contract.is_unsafe(),
        compared_with: args.common.commit.clone(),
        compared: compared.map_or(&[], |compared| compared.parts()),
    };
    if args.common.json {
        return table::json(&report);
    }
    table::line(format!(
        "the contract accepts the proof, public values {}",
        report.public_values
    ))?;
    table::line(format!(
        "program          {}\nvirtual machine  {}\ngas              {}",
        report.app_exe_commit,
        report.app_vm_commit,
        table::count(gas)
    ))?;
    if let Some(bits) = bits {
        table::line(format!(
            "security         {bits:.1} bits below the halo2 proofs"
        ))?;
    }
    if report.unsafe_test_params {
        table::line("security         none: the secret of the KZG parameters is public, the proof can be FORGED")?;
    }
    table::line(match &report.compared_with {
        Some(file) => format!("compared with    {}", shown::name(file)),
        None => "compared with    nothing: is this your program? `openvm-metal commit` prints its \
                 commitments, --commit compares them"
            .into(),
    })
}
