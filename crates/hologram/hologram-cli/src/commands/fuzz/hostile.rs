//! Wrong and damaged programs.

use std::panic::{catch_unwind, AssertUnwindSafe};

use hologram_backends::cpu::CpuBackend;
use hologram_conformance::hostile::{attempt, Outcome};

use crate::commands::put;
use crate::error::{CliError, Result};

/// Tries the programs of `programs` seeds from `first` on.
pub fn run(programs: u64, first: u64) -> Result<()> {
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
