//! `openvm-metal bench`, for developers: rates of kernels, and whole executions.

mod block;
mod energy;
mod kernels;

use clap::Subcommand;

use crate::{error::Result, target_device::DeviceArgs};

/// Benchmarks.
#[derive(Subcommand)]
pub enum BenchCommand {
    /// Measure each kernel against a roofline.
    Kernels(kernels::KernelsArgs),
    /// Prove executions of a program, for example of several Ethereum blocks, each to one proof: time, stages, memory and energy.
    ///
    /// The time is that of a warm process: devices are opened, keys are made and the program is committed before the first clock starts.
    /// It ends when OpenVM's verifier has accepted the proof, which is not written. Options of `prove` for its work are the defaults. Peaks of memory are those since the process began. The
    /// energy is that of the NVIDIA GPUs in use, as their driver counts it.
    Block(Box<block::BlockArgs>),
}

/// Runs a benchmark.
///
/// # Errors
/// Errors of the benchmark.
pub fn run(command: &BenchCommand, device: DeviceArgs) -> Result<()> {
    match command {
        BenchCommand::Kernels(args) => kernels::run(args, device),
        BenchCommand::Block(args) => block::run(args, device),
    }
}
