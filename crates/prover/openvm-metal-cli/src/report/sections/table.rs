//! hologram's instruction table: each instruction and type at edge values, as one kernel for each case.

use hologram_backends::metal::{Effort, MetalBackend};
use hologram_backends::BackendError;
use hologram_conformance::table::{cases, prepare};
use openvm_metal_common::MetalContext;

use super::{Job, Problem, Worker};
use crate::error::Result;

/// Wrong results of a case that are shown.
const SHOWN: usize = 5;

/// Runs all cases.
pub fn run(job: &Job, worker: &mut Worker) -> Result<()> {
    let context = job.hologram_context()?;
    worker.watch(&context);
    let cases = cases(context.device_profile().double_precision);
    let mut backend = hologram_backend(&context)?;
    // One call of the compiler for all. If it fails, each case is compiled by itself below, and tells.
    worker.item("compile all together", || {
        prepare(&mut backend, &cases)
            .map(|()| format!("{} kernels", cases.len()))
            .map_err(unsupported)
    });
    for case in &cases {
        worker.item(case.name(), || {
            let wrong = case.run(&mut backend).map_err(unsupported)?;
            let results = case.results();
            match wrong.len() {
                0 => Ok(format!("{results} results")),
                n => Err(Problem::Failed(format!(
                    "{n} of {results} results are wrong\n{}",
                    wrong[..n.min(SHOWN)].join("\n")
                ))),
            }
        });
    }
    Ok(())
}

/// A backend of its own on an open device.
///
/// # Errors
/// Out of memory, a lost device.
pub fn hologram_backend(context: &MetalContext) -> Result<MetalBackend, BackendError> {
    MetalBackend::on(context, MetalBackend::default_folder(), Effort::Least)
}

/// Says of a missing compiler that it is no fault of the device.
pub fn unsupported(error: BackendError) -> Problem {
    match error {
        BackendError::NoCompiler(_) => Problem::Skipped(error.to_string()),
        _ => Problem::Failed(error.to_string()),
    }
}
