//! Segments of an execution on the calling thread, one after another.

use std::time::Instant;

use openvm_circuit::arch::execution_mode::Segment;
use openvm_sdk::StdIn;

use super::{
    collect::Collector,
    job::{Accepted, Job, Segments},
    machine::Machine,
    runner::{executor, runner, Runner},
    sink::ProofSink,
    AppKey,
};
use crate::{engine::SdkEngine, error::SdkError, report::Report};

/// Proves all segments on this thread and the first device, which is the only one, one after another.
pub(super) fn run<E: SdkEngine>(
    job: &Job<'_, E>,
    input: StdIn,
    sink: &dyn ProofSink,
    report: &mut Report,
) -> Result<Segments, SdkError> {
    let machine = job.machine()?;
    let clock = Instant::now();
    let run = machine.execute_metered(input.clone(), job.options, |_| Ok(()))?;
    report.execution = clock.elapsed();
    report.instructions = run.instructions();
    report.cells = run.segments.iter().map(|s| job.keys[0].cells(s)).sum();
    report.segments = run.segments.len();
    // Before the first proof: all are made here.
    for (index, segment) in run.segments.iter().enumerate() {
        job.host_bytes(index, segment)?;
    }
    let user_public_values = machine.public_values_in(&run.memory);
    let collector = Collector::new(job, sink);
    collector.end(run.segments.len(), &user_public_values)?;
    for (index, segment) in run.segments.iter().enumerate() {
        match job.resumed(index, segment)? {
            Some((proof, span)) => collector.found(index, segment, proof, span)?,
            None => collector.missing(index, None),
        }
    }
    let executor = executor(&job.keys[0].config, &job.exes[0].exe)?;
    let runner = runner(&executor, &job.exes[0].exe)?;
    make_missing(
        job,
        machine,
        &runner,
        input,
        &run.segments,
        &collector,
        report,
    )?;
    Ok(Segments {
        proofs: collector.finish(run.segments.len(), report)?,
        user_public_values,
    })
}

/// Makes the segments that a collector lacks, on any device.
pub(super) fn make_missing<E: SdkEngine>(
    job: &Job<'_, E>,
    mut machine: Machine<E>,
    runner: &Runner<'_>,
    input: StdIn,
    segments: &[Segment],
    collector: &Collector<'_, E>,
    report: &mut Report,
) -> Result<(), SdkError> {
    let engines = job.keys.iter().map(AppKey::another_engine);
    let engines = engines.collect::<Result<Vec<_>, _>>()?;
    machine.start(input.clone());
    while let Some((index, refused)) = collector.next_missing() {
        job.options.check_cancelled()?;
        let segment = &segments[index];
        let bytes = job.host_bytes(index, segment)?;
        report.host_traces_peak = report.host_traces_peak.max(bytes);
        if machine.is_past(segment) {
            machine.start(input.clone());
        }
        machine.go_to(runner, index, segment)?;
        let recorded = machine.record(index, segment)?;
        let reservation = job.reserve(segment, refused.as_ref())?;
        let device = reservation.device();
        machine.aim(&engines[device], &job.exes[device]);
        let ctx = machine.trace(recorded)?;
        job.traced(index, segment);
        let (proof, time) = job.prove(index, reservation, ctx)?;
        report.prove += time;
        match job.accept(index, segment, device, &proof, refused.as_ref())? {
            Accepted::Yes(span) => collector.made(index, proof, span)?,
            Accepted::No(refused) => collector.missing(index, Some(refused)),
        }
    }
    machine.add_to(report);
    Ok(())
}
