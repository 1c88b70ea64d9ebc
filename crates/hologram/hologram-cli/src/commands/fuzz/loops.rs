//! Loops of one lane that run with many lanes.

use std::error::Error;
use std::io::IsTerminal;

use hologram_backends::metal::{Effort, MetalBackend};
use hologram_backends::BackendError;
use hologram_conformance::random::{LoopComparison, LoopMismatch};
use openvm_metal_common::MetalContext;

use super::FuzzArgs;
use crate::commands::put;
use crate::error::{CliError, Result};

/// Compares the loops.
pub fn run(args: &FuzzArgs) -> Result<()> {
    let (programs, seed) = (args.programs, args.seed);
    let lost = |error: openvm_metal_common::MetalError| BackendError::Device(error.to_string());
    let context = MetalContext::new(args.device, &[]).map_err(lost)?;
    let effort = if args.optimised {
        Effort::Usual
    } else {
        Effort::Least
    };
    let mut device = MetalBackend::on(&context, args.kernels.clone(), effort)?;
    let mut comparison = LoopComparison::new(&mut device)?;
    let doubles = context.device_profile().double_precision;
    let terminal = std::io::stderr().is_terminal();
    let campaign = comparison
        .campaign(seed, programs, doubles, |done| {
            if terminal {
                eprint!("\r{} of {programs}", done.programs);
            }
        })
        .map_err(explain)?;
    if terminal {
        eprintln!();
    }
    put(None, format!("{campaign}\n").as_bytes())
}

fn explain(error: Box<dyn Error>) -> CliError {
    match error.downcast::<LoopMismatch>() {
        Ok(mismatch) => CliError::Found {
            seed: mismatch.case.seed,
            what: mismatch.to_string(),
        },
        Err(other) => match other.downcast::<BackendError>() {
            Ok(error) => CliError::Backend(*error),
            Err(other) => CliError::Usage(other.to_string()),
        },
    }
}
