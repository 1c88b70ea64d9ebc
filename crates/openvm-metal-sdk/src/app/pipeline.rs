//! Segments of an execution on four threads: one cuts, one records, one makes traces, one proves.
//!
//! Each thread works on one segment at a time and hands it on without a queue in between, so the device holds the
//! traces of at most two: of the one that is proved and of the one that is next. A token is taken before a
//! segment is recorded and given back when it is proved; there are as many as segments may be in flight.

use std::{
    sync::{
        mpsc::{channel, sync_channel, Receiver, Sender, SyncSender},
        Mutex, PoisonError,
    },
    thread,
    time::{Duration, Instant},
};

use openvm_circuit::{
    arch::execution_mode::Segment,
    system::memory::{merkle::public_values::UserPublicValuesProof, CHUNK},
};
use openvm_sdk::StdIn;
use openvm_stark_backend::{proof::Proof, prover::ProvingContext};

use super::{
    job::{Job, Segments},
    machine::{copy_memory, MeteredRun, Recorded},
    sink::ProofSink,
};
use crate::{
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    prelude::{F, SC},
    report::Report,
};

/// A segment on its way from the recording thread to the proving one.
enum Stop<T> {
    /// Its proof was found.
    Resumed(Segment, Box<Proof<SC>>),
    Made(Segment, T),
}

/// The first error of several threads. Later ones are consequences of it.
#[derive(Default)]
struct First(Mutex<Option<SdkError>>);

impl First {
    /// Runs a thread's work; its panics are errors too.
    fn run<T>(&self, work: impl FnOnce() -> Result<T, SdkError>) -> Option<T> {
        guard(Stage::Pipeline, work)
            .and_then(|result| result)
            .map_err(|error| {
                let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(error);
            })
            .ok()
    }
}

/// Proves all segments on four threads; see the module.
pub(super) fn run<E: SdkEngine>(
    job: &Job<'_, E>,
    input: StdIn,
    sink: &dyn ProofSink,
    report: &mut Report,
) -> Result<Segments, SdkError> {
    let first = First::default();
    let (cut, cuts) = channel::<Segment>();
    let (record, records) = sync_channel::<Stop<Recorded>>(0);
    let (trace, traces) = sync_channel::<Stop<ProvingContext<E::PB>>>(0);
    let (give_back, tokens) = channel::<()>();
    for _ in 0..job.options.in_flight {
        // The receiver lives as long as this function.
        let _ = give_back.send(());
    }

    let (metered, recorded, traced, proved) = thread::scope(|scope| {
        let (metering, first) = (input.clone(), &first);
        let metered = scope.spawn(move || first.run(|| meter(job, metering, cut)));
        let recording = input.clone();
        let recorded =
            scope.spawn(move || first.run(|| record_all(job, recording, cuts, tokens, record)));
        let traced = scope.spawn(move || first.run(|| trace_all(job, input, records, trace)));
        let proved = first.run(|| prove_all(job, traces, give_back, sink));
        let join = "panics are errors";
        (
            metered.join().expect(join),
            recorded.join().expect(join),
            traced.join().expect(join),
            proved,
        )
    });
    let error = first.0.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = error {
        return Err(error);
    }
    let (
        Some(Some((run, execution))),
        Some((user_public_values, recorder)),
        Some(tracer),
        Some(proofs),
    ) = (metered, recorded, traced, proved)
    else {
        return Err(SdkError::Cancelled);
    };
    report.execution = execution;
    report.instructions = run.instructions();
    report.segments = run.segments.len();
    report.add(&recorder);
    report.add(&tracer);
    report.add(&proofs.report);
    sink.close(run.segments.len());
    Ok(Segments {
        proofs: proofs.proofs,
        user_public_values,
    })
}

/// Cuts the execution into segments. Gives nothing if nobody takes them any more: another thread failed, and
/// its error is the one to tell.
fn meter<E: SdkEngine>(
    job: &Job<'_, E>,
    input: StdIn,
    cut: Sender<Segment>,
) -> Result<Option<(MeteredRun, Duration)>, SdkError> {
    let machine = job.machine()?;
    let clock = Instant::now();
    let mut taken = true;
    let run = job.execute_metered(&machine, input, |segment| {
        cut.send(segment.clone()).map_err(|_| {
            taken = false;
            SdkError::Cancelled
        })
    });
    match run {
        Err(_) if !taken => Ok(None),
        run => Ok(Some((run?, clock.elapsed()))),
    }
}

/// Goes through the execution and records the segments that are not proved yet.
fn record_all<E: SdkEngine>(
    job: &Job<'_, E>,
    input: StdIn,
    cuts: Receiver<Segment>,
    tokens: Receiver<()>,
    record: SyncSender<Stop<Recorded>>,
) -> Result<(UserPublicValuesProof<CHUNK, F>, Report), SdkError> {
    let mut machine = job.machine()?;
    machine.start(input);
    let mut skipped = false;
    for (index, segment) in cuts.iter().enumerate() {
        job.options.check_cancelled()?;
        let next = match job.resumed(index, &segment)? {
            Some(proof) => {
                machine.skip(index, &segment)?;
                skipped = true;
                Stop::Resumed(segment, Box::new(proof))
            }
            None => {
                if tokens.recv().is_err() {
                    break;
                }
                let memory = skipped.then(|| copy_memory(machine.memory()));
                skipped = false;
                let mut recorded = machine.record(index, &segment)?;
                recorded.memory = memory;
                Stop::Made(segment, recorded)
            }
        };
        if record.send(next).is_err() {
            break;
        }
    }
    // The others can end while the public values' path is computed.
    drop(record);
    let mut report = Report::default();
    machine.add_to(&mut report);
    Ok((machine.user_public_values(), report))
}

/// Makes the traces of recorded segments.
fn trace_all<E: SdkEngine>(
    job: &Job<'_, E>,
    input: StdIn,
    records: Receiver<Stop<Recorded>>,
    trace: SyncSender<Stop<ProvingContext<E::PB>>>,
) -> Result<Report, SdkError> {
    let mut machine = job.machine()?;
    machine.start(input);
    machine.give_own_memory();
    for next in records {
        let next = match next {
            Stop::Resumed(segment, proof) => Stop::Resumed(segment, proof),
            Stop::Made(segment, recorded) => {
                let index = recorded.index;
                let ctx = machine.trace(recorded)?;
                job.traced(index, &segment);
                Stop::Made(segment, ctx)
            }
        };
        if trace.send(next).is_err() {
            break;
        }
    }
    let mut report = Report::default();
    machine.add_to(&mut report);
    Ok(report)
}

/// What the proving thread made.
struct Proofs {
    proofs: Vec<Proof<SC>>,
    report: Report,
}

/// Proves segments whose traces are on the device.
fn prove_all<E: SdkEngine>(
    job: &Job<'_, E>,
    traces: Receiver<Stop<ProvingContext<E::PB>>>,
    give_back: Sender<()>,
    sink: &dyn ProofSink,
) -> Result<Proofs, SdkError> {
    let mut report = Report::default();
    let mut proofs = Vec::new();
    for (index, next) in traces.iter().enumerate() {
        job.options.check_cancelled()?;
        let proof = match next {
            Stop::Resumed(segment, proof) => {
                report.resumed += 1;
                job.found(index, &segment);
                *proof
            }
            Stop::Made(segment, ctx) => {
                let proof = job.prove(index, &segment, ctx, &mut report)?;
                // The recording thread may have ended.
                let _ = give_back.send(());
                proof
            }
        };
        report.count(&proof);
        sink.segment(index, &proof)?;
        proofs.push(proof);
    }
    Ok(Proofs { proofs, report })
}
