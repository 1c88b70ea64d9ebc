//! `openvm-metal bench`, for developers: rates of kernels, and proofs beside OpenVM's engines. `tools/bench-page` draws the JSON.

mod kernels;
mod profile;
mod proofs;

pub use proofs::SpanLayer;

use clap::Subcommand;

use crate::{circuit::catalogue::CircuitName, error::Result, target_device::DeviceArgs};

/// Benchmarks.
#[derive(Subcommand)]
pub enum BenchCommand {
    /// Measure each kernel against a roofline.
    Kernels(kernels::KernelsArgs),
    /// Prove Keccak-f permutations.
    Keccakf(proofs::SizesArgs),
    /// Prove a circuit with many LogUp interactions.
    Interactions(proofs::SizesArgs),
    /// Prove traces with the shapes of the segments of a real execution, for example of an Ethereum block.
    Reth(proofs::RethArgs),
}

/// Runs a benchmark.
///
/// # Errors
/// Errors of the benchmark.
pub fn run(command: &BenchCommand, device: DeviceArgs) -> Result<()> {
    match command {
        BenchCommand::Kernels(args) => kernels::run(args, device),
        BenchCommand::Keccakf(args) => proofs::run_sizes(CircuitName::Keccakf, args, device),
        BenchCommand::Interactions(args) => {
            proofs::run_sizes(CircuitName::Interactions, args, device)
        }
        BenchCommand::Reth(args) => proofs::run_reth(args, device),
    }
}
