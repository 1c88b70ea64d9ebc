//! hologram's random programs: the same memory and the same faults as the interpreter's.

use hologram_backends::cpu::CpuBackend;
use hologram_conformance::random::{generate, Case, Comparison, Features};

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
            let cases: Vec<Case> = (first..last)
                .map(|seed| generate(seed, &features))
                .collect::<Result<_, _>>()
                .map_err(unsupported)?;
            let programs: Vec<_> = cases.iter().map(|c| (&c.program, &c.params)).collect();
            let compiled = device.prepare(&programs).map_err(unsupported)?;
            let mut reference = CpuBackend::new();
            let mut comparison = Comparison::new(&mut reference, &mut device).map_err(unsupported)?;
            let (mut different, mut faults) = (Vec::new(), 0);
            for case in &cases {
                match comparison.check(case) {
                    Ok(fault) => faults += usize::from(fault.is_some()),
                    Err(mismatch) => different.push(format!("seed {}: {}", case.seed, mismatch.what)),
                }
            }
            match different.len() {
                0 => Ok(format!("{compiled} kernels, {faults} equal faults")),
                n => Err(Problem::Failed(format!(
                    "{n} of {} programs differ\n{}\n`hologram fuzz --programs 1 --seed SEED --device {}` shows one made small",
                    cases.len(),
                    different[..n.min(SHOWN)].join("\n"),
                    context.info().kind,
                ))),
            }
        });
    }
    Ok(())
}
