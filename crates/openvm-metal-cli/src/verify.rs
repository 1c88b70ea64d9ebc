//! `openvm-metal verify`: proofs from files, by OpenVM's own verifier.

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use openvm_metal_sdk::{files, verify, verify_app};
use openvm_verify_stark_host::vk::{read_vk_from_file, VmStarkVerifyingKey};

use crate::{
    circuit::verify::{self as circuit, VerifyCircuitArgs},
    error::{CliError, Result},
    hex, interrupt, table,
};

#[derive(Subcommand)]
pub enum VerifyCommand {
    /// The proofs of all segments of an execution.
    App(VerifyAppArgs),
    /// The aggregated proof of an execution.
    Stark(VerifyStarkArgs),
    /// The proof of a built-in circuit.
    Circuit(VerifyCircuitArgs),
}

#[derive(Args, Debug)]
pub struct VerifyAppArgs {
    /// The proof, as `prove app` writes it.
    proof: PathBuf,
    /// The application's verifying key, as `prove app` or `keygen` writes it.
    #[arg(long, value_name = "FILE")]
    vk: PathBuf,
    /// The commitments of the program that was proved, as `commit` writes them; if absent, any program is accepted.
    #[arg(long, value_name = "FILE")]
    commit: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct VerifyStarkArgs {
    /// The proof, as `prove stark` writes it.
    proof: PathBuf,
    /// What verifies proofs of the program, as `prove stark` writes it.
    #[arg(long, value_name = "FILE")]
    vk: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// If a file cannot be read, or the proof is not accepted.
pub fn run(command: &VerifyCommand) -> Result<()> {
    interrupt::at_once();
    let values = match command {
        VerifyCommand::Circuit(args) => return circuit::run(args),
        VerifyCommand::App(args) => {
            let proof = files::read_app_proof(&args.proof)?;
            let vk = files::read_app_vk(&args.vk)?;
            let commit = args.commit.as_ref().map(|path| files::read_commit(path));
            let commit = commit
                .transpose()?
                .map(|commits| commits.app_exe_commit.into());
            verify_app(&vk, &proof, commit)?;
            proof.user_public_values.public_values
        }
        VerifyCommand::Stark(args) => {
            let proof = files::read_proof(&args.proof)?;
            let vk = read_vk(&args.vk)?;
            verify(&vk.mvk, &vk.baseline, &proof)?;
            proof.user_pvs_proof.public_values
        }
    };
    table::line(format!(
        "the proof is valid, public values {}",
        hex::encode_values(&values)
    ))
}

fn read_vk(path: &Path) -> Result<VmStarkVerifyingKey> {
    read_vk_from_file(path).map_err(|error| CliError::Corrupt {
        path: path.display().to_string(),
        what: "verifying key of a program",
        reason: error.root_cause().to_string(),
    })
}
