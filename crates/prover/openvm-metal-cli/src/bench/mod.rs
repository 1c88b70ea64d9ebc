//! `openvm-metal bench`.

mod case;
mod commit;
mod compare;
mod grind;
mod hash;
mod kernels;
mod measure;
mod ntt;
mod page;
mod profile;
mod proofs;
mod roof;

pub use kernels::{cases, measure};
pub use proofs::SpanLayer;
pub use roof::Roof;

use clap::Subcommand;

use crate::{circuit::catalogue::CircuitName, error::Result, target_device::DeviceArgs};

/// Benchmarks.
#[derive(Subcommand)]
pub enum BenchCommand {
    /// The rate of each kernel beside its floor: what the device's measured peaks allow.
    Kernels(kernels::KernelsArgs),
    /// Proofs of Keccak-f permutations.
    Keccakf(proofs::SizesArgs),
    /// Proofs of a circuit with many LogUp interactions.
    Interactions(proofs::SizesArgs),
    /// Proofs with the shapes of the segments of a real execution, for example of an Ethereum block.
    Reth(proofs::RethArgs),
    /// The ratios of two results of proofs that were printed as JSON.
    Compare(compare::CompareArgs),
    /// One HTML page of results that were printed as JSON.
    Report(page::PageArgs),
}

impl BenchCommand {
    /// Device of the command; none if it reads files only.
    pub fn device(&mut self) -> Option<&mut DeviceArgs> {
        match self {
            Self::Kernels(args) => Some(args.device()),
            Self::Keccakf(args) | Self::Interactions(args) => Some(args.device()),
            Self::Reth(args) => Some(args.device()),
            Self::Compare(_) | Self::Report(_) => None,
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
        BenchCommand::Keccakf(args) => proofs::run_sizes(CircuitName::Keccakf, args),
        BenchCommand::Interactions(args) => proofs::run_sizes(CircuitName::Interactions, args),
        BenchCommand::Reth(args) => proofs::run_reth(args),
        BenchCommand::Compare(args) => compare::run(args),
        BenchCommand::Report(args) => page::run(args),
    }
}
