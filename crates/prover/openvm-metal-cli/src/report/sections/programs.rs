//! hologram's random programs: the same memory and the same faults as the interpreter's.

use hologram_conformance::random::{compare_batch, Features};

use super::table::{hologram_backend, unsupported};
use super::{Job, Problem, Worker};
use crate::error::Result;

/// Programs of an item, which are compiled together.
const BATCH: u64 = 25;
/// Programs of an item that are shown if they differ.
const SHOWN: usize = 3;

/// Compares the programs, batch by batch.
pub fn run(job: &Job, worker: &mut Worker) -> Result<()> {
    let context = job.hologram_context()?;
    worker.watch(&context);
    let features = Features {
        doubles: context.device_profile().double_precision,
        ..Features::default()
    };
    let mut last = job.seed;
    let end = job.seed.saturating_add(job.programs);
    while last < end {
        let first = last;
        last = end.min(first.saturating_add(BATCH));
        worker.item(&format!("seeds {first} to {}", last - 1), || {
            let mut device = hologram_backend(&context).map_err(unsupported)?;
            let batch = compare_batch(&mut device, first..last, &features).map_err(unsupported)?;
            let different: Vec<String> = batch
                .different
                .iter()
                .take(SHOWN)
                .map(|(seed, what)| format!("seed {seed}: {what}"))
                .collect();
            match batch.different.len() {
                0 => Ok(format!(
                    "{} kernels, {} equal faults",
                    batch.kernels, batch.equal_faults
                )),
                n => Err(Problem::Failed(format!(
                    "{n} of {} programs differ\n{}\n`hologram fuzz --programs 1 --seed SEED --device {}` shows one made small",
                    batch.programs,
                    different.join("\n"),
                    context.info().kind,
                ))),
            }
        });
    }
    Ok(())
}
