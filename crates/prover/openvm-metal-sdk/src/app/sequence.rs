//! Segments of an execution on the calling thread, one after another.

use std::time::Instant;

use openvm_circuit::{arch::execution_mode::Segment, system::memory::online::GuestMemory};
use openvm_sdk::StdIn;

use super::{
    collect::Collector,
    job::{Accepted, Job, Segments},
    meter::{execute_metered, Follower},
    runner::{decoded, executors},
    segment_memory::SegmentMemory,
    sink::ProofSink,
    snapshot::{end_of_memory, Snapshotter},
    AppKey,
};
use crate::{engine::SdkEngine, error::SdkError, execution::Execution, report::Report};

/// The memory at the end of an execution.
struct LastMemory(Option<GuestMemory>);

impl Follower for LastMemory {
    fn before_segment(&mut self, _: &Execution<'_>) -> Result<(), SdkError> {
        Ok(())
    }

    fn segment(&mut self, _: &Segment) -> Result<(), SdkError> {
        Ok(())
    }

    fn end(&mut self, execution: Execution<'_>) -> Result<(), SdkError> {
        self.0 = Some(execution.into_state().memory);
        Ok(())
    }
}

/// Proves all segments on this thread and the first device, which is the only one, one after another.
pub(super) fn run<E: SdkEngine>(
    job: &Job<'_, E>,
    input: StdIn,
    sink: &dyn ProofSink,
    report: &mut Report,
) -> Result<Segments, SdkError> {
    let (key, exe) = (&job.keys[0], &job.exes[0].exe);
    let clock = Instant::now();
    let mut last = LastMemory(None);
    let run = execute_metered(
        &key.circuit,
        &mut SegmentMemory::of(key),
        exe,
        input.clone(),
        job.options,
        &mut last,
    )?;
    report.execution = clock.elapsed();
    report.instructions = run.instructions();
    report.cells = run.segments.iter().map(|s| key.cells(s)).sum();
    report.segments = run.segments.len();
    // Before the first proof: all are made here.
    for (index, segment) in run.segments.iter().enumerate() {
        job.host_bytes(index, segment)?;
    }
    let memory = last.0.take().ok_or(SdkError::Cancelled)?;
    let end = end_of_memory(&key.config.system.config, &memory);
    drop(memory);
    let collector = Collector::new(job, sink);
    collector.end(run.segments.len(), &end.user_public_values)?;
    for (index, segment) in run.segments.iter().enumerate() {
        match job.resumed(index, segment)? {
            Some((proof, span)) => collector.found(index, segment, proof, span)?,
            None => collector.missing(index, None),
        }
    }
    make_missing(job, input, &run.segments, &collector, report)?;
    Ok(Segments {
        proofs: collector.finish(run.segments.len(), report)?,
        end,
    })
}

/// Makes the segments that a collector lacks, on any device.
pub(super) fn make_missing<E: SdkEngine>(
    job: &Job<'_, E>,
    input: StdIn,
    segments: &[Segment],
    collector: &Collector<'_, E>,
    report: &mut Report,
) -> Result<(), SdkError> {
    let engines = job.keys.iter().map(AppKey::another_engine);
    let engines = engines.collect::<Result<Vec<_>, _>>()?;
    let mut tracer = job.tracer(input.buffer.len())?;
    let (key, exe) = (&job.keys[0], &job.exes[0].exe);
    let executors = executors(&key.config, exe)?;
    let program = decoded(&executors, exe, Vec::new())?;
    let mut snapshotter = Snapshotter::new(key, &program, input);
    while let Some((index, refused)) = collector.next_missing() {
        job.options.check_cancelled()?;
        let segment = &segments[index];
        let bytes = job.host_bytes(index, segment)?;
        report.host_traces_peak = report.host_traces_peak.max(bytes);
        if snapshotter.executed() > segment.instret_start {
            snapshotter.restart();
        }
        snapshotter.run_to(index, segment.instret_start)?;
        let recorded = tracer.record(index, segment, snapshotter.snapshot(index)?)?;
        let reservation = job.reserve(segment, refused.as_ref())?;
        let device = reservation.device();
        tracer.aim(&engines[device], &job.exes[device]);
        let ctx = tracer.trace(recorded)?;
        job.traced(index, segment);
        let (proof, time) = job.prove(index, reservation, ctx)?;
        report.prove += time;
        match job.accept(index, segment, device, &proof, refused.as_ref())? {
            Accepted::Yes(span) => collector.made(index, proof, span)?,
            Accepted::No(refused) => collector.missing(index, Some(refused)),
        }
    }
    snapshotter.add_to(report);
    tracer.add_to(report);
    Ok(())
}
