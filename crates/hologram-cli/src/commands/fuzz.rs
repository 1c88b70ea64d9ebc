//! `hologram fuzz`.

use std::panic::{catch_unwind, AssertUnwindSafe};

use clap::Args;
use hologram_backends::cpu::CpuBackend;
use hologram_backends::hostile::{attempt, Outcome};

use super::put;
use crate::error::{CliError, Result};

/// Arguments of `fuzz`.
#[derive(Args, Debug)]
pub struct FuzzArgs {
    /// How many programs.
    #[arg(long, default_value_t = 1000)]
    programs: u64,
    /// Seed of the first program; the next have the next numbers.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Wrong and damaged programs on the interpreter: each must be refused or end with a typed error.
    #[arg(long, required = true)]
    hostile: bool,
}

/// Tries random programs.
pub fn run(args: &FuzzArgs) -> Result<()> {
    hostile(args.programs, args.seed)
}

fn hostile(programs: u64, first: u64) -> Result<()> {
    let mut backend = CpuBackend::new();
    let [mut unreadable, mut invalid, mut unsupported, mut faults, mut ran] = [0u64; 5];
    for index in 0..programs {
        let seed = first.wrapping_add(index);
        let found = |what: String| CliError::Found { seed, what };
        // A panic is a finding; the backend is not used after it.
        let outcome = catch_unwind(AssertUnwindSafe(|| attempt(&mut backend, seed)))
            .map_err(|_| found("panic".to_owned()))?
            .map_err(|error| found(error.to_string()))?;
        *match outcome {
            Outcome::Unreadable(_) => &mut unreadable,
            Outcome::Invalid(_) => &mut invalid,
            Outcome::Unsupported(_) => &mut unsupported,
            Outcome::Fault(_) => &mut faults,
            Outcome::Ran => &mut ran,
        } += 1;
    }
    let text = format!(
        "{programs} programs: {unreadable} unreadable, {invalid} not valid, {unsupported} unsupported, \
         {faults} with a fault, {ran} run to their end\n"
    );
    put(None, text.as_bytes())
}
