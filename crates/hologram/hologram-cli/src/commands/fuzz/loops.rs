//! Loops of one lane that run with many lanes.

use std::error::Error;
use std::io::IsTerminal;
use std::path::Path;

use hologram_backends::metal::{Effort, MetalBackend};
use hologram_backends::BackendError;
use hologram_conformance::random::{compile_loops_ahead, LoopComparison, LoopMismatch};
use openvm_metal_common::{DeviceProfile, MetalContext};

use super::compare::kind;
use super::FuzzArgs;
use crate::commands::put;
use crate::error::{CliError, Result};

/// Compares the loops, or compiles them to `folder`.
pub fn run(args: &FuzzArgs, folder: Option<&Path>) -> Result<()> {
    let (programs, seed) = (args.programs, args.seed);
    if let Some(folder) = folder {
        let kind = kind(args.device);
        let doubles = DeviceProfile::typical(kind).double_precision;
        let kernels = compile_loops_ahead(kind, folder.to_owned(), seed, programs, doubles)?;
        return put(None, format!("{kernels} kernels for {kind}\n").as_bytes());
    }
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
