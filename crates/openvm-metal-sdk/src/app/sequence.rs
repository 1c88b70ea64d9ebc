//! Segments of an execution on the calling thread, one after another.

use std::time::Instant;

use openvm_sdk::StdIn;

use super::{
    job::{Job, Segments},
    sink::ProofSink,
};
use crate::{engine::SdkEngine, error::SdkError, report::Report};

/// Proves all segments on this thread, one after another.
pub(super) fn run<E: SdkEngine>(
    job: &Job<'_, E>,
    input: StdIn,
    sink: &dyn ProofSink,
    report: &mut Report,
) -> Result<Segments, SdkError> {
    let mut machine = job.machine()?;
    let clock = Instant::now();
    let run = job.execute_metered(&machine, input.clone(), |_| Ok(()))?;
    report.execution = clock.elapsed();
    report.instructions = run.instructions();
    report.segments = run.segments.len();
    sink.close(run.segments.len());

    machine.start(input);
    let mut proofs = Vec::with_capacity(run.segments.len());
    let mut memory_is_given = false;
    for (index, segment) in run.segments.iter().enumerate() {
        job.options.check_cancelled()?;
        let proof = match job.resumed(index, segment)? {
            Some(proof) => {
                machine.skip(index, segment)?;
                memory_is_given = false;
                report.resumed += 1;
                job.found(index, segment);
                proof
            }
            None => {
                if !memory_is_given {
                    machine.give_own_memory();
                    memory_is_given = true;
                }
                let recorded = machine.record(index, segment)?;
                let ctx = machine.trace(recorded)?;
                job.traced(index, segment);
                job.prove(index, segment, ctx, report)?
            }
        };
        report.count(&proof);
        sink.segment(index, &proof)?;
        proofs.push(proof);
    }
    machine.add_to(report);
    Ok(Segments {
        proofs,
        user_public_values: machine.user_public_values(),
    })
}
