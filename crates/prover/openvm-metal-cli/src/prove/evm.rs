//! `openvm-metal prove evm`: a proof that a contract verifies, of an execution or of a root proof.

use std::path::PathBuf;

use clap::Args;

use super::ProofArgs;
use crate::{error::Result, evm::ParamsArgs, target_device::DeviceArgs};

#[derive(Args, Debug)]
pub struct EvmArgs {
    #[command(flatten)]
    pub proof: ProofArgs,
    /// Prove the root proof in FILE, as `prove root` writes it, in place of an execution. No program is needed.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "check", "dev", "input", "vk", "root_pk"])]
    pub from: Option<PathBuf>,
    /// Compare the commitments of the root proof with FILE, as `commit` writes it.
    #[arg(long, alias = "app-commit", value_name = "FILE", requires = "from")]
    pub commit: Option<PathBuf>,
    /// Read the root key from FILE, as `setup --root` writes it [default: make it, which takes a proof of the smallest program].
    #[arg(long, value_name = "FILE", conflicts_with = "dev")]
    pub root_pk: Option<PathBuf>,
    /// Read the EVM keys and the contract from FOLDER, into which `setup --evm` writes.
    #[arg(long, value_name = "FOLDER")]
    pub keys: PathBuf,
    #[command(flatten)]
    pub params: ParamsArgs,
}

/// Runs the command.
///
/// # Errors
/// Errors of the program, the device, keys and parameters; a root proof that is not valid.
#[cfg(feature = "evm")]
pub fn run(command: &EvmArgs, device: DeviceArgs) -> Result<()> {
    super::wrap::run(command, device)
}

/// Says that this build has no such proofs.
///
/// # Errors
/// [`CliError::NoEvm`](crate::error::CliError).
#[cfg(not(feature = "evm"))]
pub fn run(command: &EvmArgs, _: DeviceArgs) -> Result<()> {
    let EvmArgs {
        proof: _,
        from: _,
        commit: _,
        root_pk: _,
        keys: _,
        params: _,
    } = command;
    Err(crate::error::CliError::NoEvm)
}
