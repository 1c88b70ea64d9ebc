//! Segments of an execution on the calling thread, one after another.

use std::time::Instant;

use openvm_sdk::StdIn;

use super::{
    job::{Job, Segments},
    runner::{executor, runner},
    sink::ProofSink,
};
use crate::{engine::SdkEngine, error::SdkError, report::Report};

/// Proves all segments on this thread and the first device, which is the only one, one after another.
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
    for (index, segment) in run.segments.iter().enumerate() {
        let bytes = job.host_bytes(index, segment)?;
        report.host_traces_peak = report.host_traces_peak.max(bytes);
    }
    sink.close(run.segments.len());

    let executor = executor(&job.keys[0].config)?;
    let runner = runner(&executor, &job.exes[0].exe)?;
    machine.start(input);
    let mut proofs = Vec::with_capacity(run.segments.len());
    for (index, segment) in run.segments.iter().enumerate() {
        job.options.check_cancelled()?;
        let proof = match job.resumed(index, segment)? {
            Some(proof) => {
                machine.skip(&runner, index, segment)?;
                report.resumed += 1;
                proof
            }
            None => {
                machine.go_to(&runner, index, segment)?;
                let recorded = machine.record(index, segment)?;
                let reservation = job.reserve(segment);
                let ctx = machine.trace(recorded)?;
                job.traced(index, segment);
                let (proof, time) = job.prove(index, segment, reservation, ctx)?;
                report.prove += time;
                proof
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
