//! `hologram fuzz`.

mod compare;
mod hostile;
mod loops;

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use openvm_metal_common::Device;

use crate::error::Result;

/// Arguments of `fuzz`.
#[derive(Args, Debug)]
pub struct FuzzArgs {
    /// Number of programs.
    #[arg(long, default_value_t = 1000)]
    programs: u64,
    /// Seed of the first program; the next have the next numbers.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Wrong and damaged programs on the interpreter: each must be refused or end with a typed error.
    #[arg(long, conflicts_with_all = ["device", "jobs", "optimised", "kernels"])]
    hostile: bool,
    /// Loops of one lane that run with many: whether they do where they must, and give the same.
    #[arg(long, conflicts_with_all = ["hostile", "jobs"])]
    loops: bool,
    /// Programs with pools of their own and whole-buffer instructions too: the interpreter runs what kernels cannot, on
    /// the device's memory.
    #[arg(long, conflicts_with_all = ["hostile", "loops"])]
    fallback: bool,
    /// Device of the kernels that are compared with the interpreter: cpu, cpu-conformance, cuda or metal.
    #[arg(long, default_value = "cpu", value_parser = super::device)]
    device: Device,
    /// Programs are compiled and compared by so many threads; default: one for each core, one for GPUs.
    #[arg(long)]
    jobs: Option<NonZeroUsize>,
    /// Compile kernels as in use, which takes several times longer.
    #[arg(long)]
    optimised: bool,
    /// Folder for compiled kernels, which are used again; default: an own one, removed in the end.
    #[arg(long)]
    kernels: Option<PathBuf>,
}

/// Tries random programs.
pub fn run(args: &FuzzArgs) -> Result<()> {
    if args.hostile {
        hostile::run(args.programs, args.seed)
    } else if args.loops {
        loops::run(args)
    } else {
        compare::run(args)
    }
}
