//! `openvm-metal bench`.

mod case;
mod grind;
mod hash;
mod kernels;
mod measure;
mod ntt;
mod roof;

pub use kernels::{cases, measure};
pub use roof::Roof;

use clap::Subcommand;

use crate::error::Result;
use crate::target_device::DeviceArgs;

/// What to measure.
#[derive(Subcommand)]
pub enum BenchCommand {
    /// The rate of each kernel beside its floor: what the device's measured peaks allow.
    Kernels(kernels::KernelsArgs),
}

impl BenchCommand {
    /// Where the command runs.
    pub fn device(&mut self) -> &mut DeviceArgs {
        match self {
            Self::Kernels(args) => args.device(),
        }
    }
}

/// Runs a benchmark.
///
/// # Errors
/// Whatever the benchmark could not do.
pub fn run(command: &BenchCommand) -> Result<()> {
    match command {
        BenchCommand::Kernels(args) => kernels::run(args),
    }
}
