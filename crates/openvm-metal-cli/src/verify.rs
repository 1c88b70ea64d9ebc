//! `openvm-metal verify`: proofs from files, by OpenVM's own verifier.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use openvm_metal_sdk::{files, verify, verify_app};
use openvm_verify_stark_host::vk::VmStarkVerifyingKey;

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
    /// The application's verifying key, as `prove app`, `keygen` or cargo-openvm writes it.
    #[arg(long, alias = "app-vk", value_name = "FILE")]
    vk: PathBuf,
    /// The commitments of the program that was proved, as `commit` writes them; if absent, any program is accepted.
    #[arg(long, alias = "app-commit", value_name = "FILE")]
    commit: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub struct VerifyStarkArgs {
    /// The proof, as `prove stark` writes it.
    proof: PathBuf,
    /// What verifies proofs of the program, as `prove stark` writes it.
    #[arg(long, value_name = "FILE", required_unless_present = "agg_vk")]
    vk: Option<PathBuf>,
    /// In place of --vk, with --baseline: the aggregation's verifying key, as `setup` or cargo-openvm writes it.
    #[arg(
        long,
        value_name = "FILE",
        requires = "baseline",
        conflicts_with = "vk"
    )]
    agg_vk: Option<PathBuf>,
    /// What a verifier must know of the program, as `commit` or cargo-openvm writes it.
    #[arg(long, alias = "app-baseline", value_name = "FILE", requires = "agg_vk")]
    baseline: Option<PathBuf>,
}

impl VerifyStarkArgs {
    fn key(&self) -> Result<VmStarkVerifyingKey> {
        Ok(match (&self.vk, &self.agg_vk, &self.baseline) {
            (_, Some(agg_vk), Some(baseline)) => VmStarkVerifyingKey {
                mvk: files::read_agg_vk(agg_vk)?,
                baseline: files::read_baseline(baseline)?,
            },
            (Some(vk), ..) => files::read_stark_vk(vk)?,
            _ => {
                return Err(CliError::Usage(
                    "--vk is missing, or --agg-vk and --baseline",
                ))
            }
        })
    }
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
            let vk = args.key()?;
            verify(&vk.mvk, &vk.baseline, &proof)?;
            proof.user_pvs_proof.public_values
        }
    };
    table::line(format!(
        "the proof is valid, public values {}",
        hex::encode_values(&values)
    ))
}
