//! Segments of an execution on several threads and devices.
//!
//! One thread executes the program, cuts it into segments and copies the pages that each of them touched. Another one hashes these and makes a snapshot
//! of the state before each segment.
//! Tracers, each on a thread, take segments as they are cut: a tracer records its segment from the snapshot, and makes its traces on the device that is
//! expected to end its proof first. Each device has a thread for each proof that it makes at once. Segments are
//! in flight from when a tracer takes them until they are proved, and their number is bounded. Proofs are verified and stored beside
//! the next ones. What is refused, and what turns out to be missing, is made at the end, one segment after another.

use std::{
    sync::{
        mpsc::{channel, Receiver, Sender},
        Arc, Mutex, PoisonError,
    },
    thread::{self, ScopedJoinHandle},
};

use openvm_circuit::arch::execution_mode::Segment;
use openvm_metal_common::MetalError;
use openvm_sdk::StdIn;
use openvm_stark_backend::{proof::Proof, prover::ProvingContext};

use super::{
    collect::Collector,
    job::{Accepted, Job, Segments},
    segment_queue::{Bounds, Permit, SegmentQueue, Taken},
    sequence::make_missing,
    sink::ProofSink,
    snapshot::{EndOfMemory, Follow, Snapshot},
    snapshot_queue::SnapshotQueue,
    started::{Followed, Metered, Started},
    AppKey,
};
use crate::{
    devices::Reservation,
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    options::Threads,
    prelude::SC,
    report::Report,
    slot::lock,
};

/// Threads for each device that verify what it made. Of small segments a GPU makes two in the time of one verification.
const VERIFIERS: usize = 4;

/// Most snapshots that are made and that no tracer has taken: one that the next tracer takes, and one while it does.
const READY_SNAPSHOTS: usize = 2;

/// A segment whose traces are on a device.
struct Traced<'a, E: SdkEngine> {
    index: usize,
    segment: Segment,
    permit: Permit<'a>,
    reservation: Reservation<'a>,
    ctx: ProvingContext<E::PB>,
}

/// A proof that a device made.
struct Proved {
    index: usize,
    segment: Segment,
    device: usize,
    proof: Proof<SC>,
}

/// State that the threads of a job share.
struct Pipeline<'a, E: SdkEngine> {
    job: &'a Job<'a, E>,
    queue: SegmentQueue,
    snapshots: SnapshotQueue<Snapshot>,
    collector: Collector<'a, E>,
    report: Mutex<Report>,
    /// The first error. Later ones are consequences of it.
    error: Mutex<Option<SdkError>>,
}

/// Proves all segments of an execution, which was started, on several threads; see the module.
pub(super) fn run<E: SdkEngine>(
    job: &Job<'_, E>,
    input: StdIn,
    started: Started<'_>,
    sink: &dyn ProofSink,
    report: &mut Report,
    threads: Threads,
) -> Result<Segments, SdkError> {
    let pipeline = Pipeline {
        job,
        queue: SegmentQueue::new(Bounds {
            segments: threads.in_flight,
            bytes: job.host_memory,
        }),
        // Of segments whose proofs are found no snapshot is needed.
        snapshots: SnapshotQueue::new(READY_SNAPSHOTS, job.resume.is_some()),
        collector: Collector::new(job, sink),
        report: Mutex::default(),
        error: Mutex::default(),
    };
    let (metered, end) = thread::scope(|scope| {
        let pipeline = &pipeline;
        let _stop = StopOnPanic(pipeline);
        let (senders, receivers): (Vec<_>, Vec<_>) =
            job.keys.iter().map(|_| channel::<Traced<'_, E>>()).unzip();
        for (traced, proofs) in receivers.into_iter().zip(job.fleet.proofs_at_once()) {
            let traced = Arc::new(Mutex::new(traced));
            let (sender, proved) = channel();
            for _ in 0..proofs {
                let (traced, sender) = (traced.clone(), sender.clone());
                scope.spawn(move || pipeline.thread(|| pipeline.prove(&traced, &sender)));
            }
            // Beside the proofs: the device does not wait for it.
            let proved = Arc::new(Mutex::new(proved));
            for _ in 0..VERIFIERS {
                let proved = proved.clone();
                scope.spawn(move || pipeline.thread(|| pipeline.deliver(&proved)));
            }
        }
        for number in 0..threads.machines {
            let (senders, inputs) = (senders.clone(), input.buffer.len());
            scope.spawn(move || pipeline.thread(|| pipeline.make(number, inputs, &senders)));
        }
        // Devices have all their segments when the last tracer ends.
        drop(senders);
        let Started {
            memory,
            changes,
            segments,
            metered,
        } = started;
        // The execution has ended if it does not receive this.
        let _ = memory.send(job.keys[0].config.system.config.segmentation_max_memory);
        let end = scope.spawn(move || pipeline.thread(|| pipeline.make_snapshots(&changes)));
        let metered = pipeline.thread(|| pipeline.hand_out(segments, metered));
        // Its panics are errors of the pipeline.
        (metered.flatten(), end.join().ok().flatten().flatten())
    });
    if let Some(error) = pipeline
        .error
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
    {
        return Err(error);
    }
    let (Some(metered), Some(end)) = (metered, end) else {
        return Err(SdkError::Cancelled);
    };
    let segments = &metered.run.segments;
    if pipeline.collector.is_missing() {
        make_missing(job, input, segments, &pipeline.collector, report)?;
    }
    report.execution = metered.time;
    report.instructions = metered.run.instructions();
    let cells = metered.run.segments.iter().map(|s| job.keys[0].cells(s));
    report.cells = cells.sum();
    report.segments = segments.len();
    report.host_traces_peak = report.host_traces_peak.max(pipeline.queue.most_held());
    report.add(
        &pipeline
            .report
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
    );
    Ok(Segments {
        proofs: pipeline.collector.finish(segments.len(), report)?,
        end,
    })
}

/// Stops the other threads if the one that begins them panics: the system may refuse a thread.
struct StopOnPanic<'p, 'a, E: SdkEngine>(&'p Pipeline<'a, E>);

impl<E: SdkEngine> Drop for StopOnPanic<'_, '_, E> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop();
        }
    }
}

impl<E: SdkEngine> Pipeline<'_, E> {
    /// Runs a thread's work; its panics are errors too. The first error stops all threads.
    fn thread<T>(&self, work: impl FnOnce() -> Result<T, SdkError>) -> Option<T> {
        guard(Stage::Pipeline, work)
            .and_then(|result| result)
            .map_err(|error| {
                lock(&self.error).get_or_insert(error);
                self.stop();
            })
            .ok()
    }

    /// Stops all threads.
    fn stop(&self) {
        self.queue.stop();
        self.snapshots.stop();
    }

    /// Gives segments to tracers as they are cut. Gives nothing if nobody takes them any more: another thread failed, and its error is the
    /// one to tell.
    fn hand_out(
        &self,
        segments: Receiver<Segment>,
        metered: ScopedJoinHandle<'_, Result<Option<Metered>, SdkError>>,
    ) -> Result<Option<Metered>, SdkError> {
        let mut index = 0;
        while let Ok(segment) = segments.recv() {
            let bytes = self.job.host_bytes(index, &segment)?;
            index += 1;
            if !self.queue.add(segment, bytes) {
                return Ok(None);
            }
        }
        let metered = metered.join().expect("panics are errors")?;
        if metered.is_some() {
            self.queue.end();
        }
        Ok(metered)
    }

    /// Makes the snapshots before segments as these are cut. At the end it has the guest's public values and what else is known of the memory. Gives
    /// nothing if nobody takes snapshots any more.
    fn make_snapshots(
        &self,
        changes: &Receiver<Followed>,
    ) -> Result<Option<EndOfMemory>, SdkError> {
        let system = &self.job.keys[0].config.system.config;
        let mut follow = Follow::new(system);
        let mut end = None;
        let mut index = 0;
        while let Ok(followed) = changes.recv() {
            self.job.options.check_cancelled()?;
            match followed {
                Followed::Segment(changes) => {
                    let state = follow.go(index, changes)?;
                    let Some(is_wanted) = self.snapshots.is_wanted(index) else {
                        break;
                    };
                    let snapshot = || Snapshot {
                        state,
                        memory: follow.tree().clone(),
                    };
                    if is_wanted && !self.snapshots.put(index, snapshot()) {
                        break;
                    }
                    index += 1;
                }
                Followed::End(changes, memory) => {
                    follow.go(index, changes)?;
                    let found = guard(Stage::Preflight(index), || {
                        follow.end(system, &memory.memory)
                    })?;
                    self.collector.end(index, &found.user_public_values)?;
                    end = Some(found);
                    break;
                }
            }
        }
        follow.add_to(&mut lock(&self.report));
        Ok(end)
    }

    /// Tracer `number`: records segments and makes their traces, until there are no more. Its virtual machine is built once there are more
    /// segments than `number`: a short program needs one, and each costs tenths of a second.
    fn make<'b>(
        &'b self,
        number: usize,
        inputs: usize,
        devices: &[Sender<Traced<'b, E>>],
    ) -> Result<(), SdkError> {
        if !self.queue.wait_for(number) {
            return Ok(());
        }
        let job = self.job;
        let mut tracer = job.tracer(inputs)?;
        let engines = job.keys.iter().map(AppKey::another_engine);
        let engines = engines.collect::<Result<Vec<_>, _>>()?;
        while let Some(taken) = self.queue.take() {
            let Taken {
                index,
                segment,
                mut permit,
            } = taken;
            job.options.check_cancelled()?;
            if let Some((proof, span)) = job.resumed(index, &segment)? {
                self.snapshots.skip(index);
                drop(permit);
                self.collector.found(index, &segment, proof, span)?;
                continue;
            }
            let Some(snapshot) = self.snapshots.take(index) else {
                break;
            };
            let recorded = tracer.record(index, &segment, snapshot)?;
            let reservation = job.reserve(&segment, None)?;
            if self.queue.is_stopped() {
                break;
            }
            let device = reservation.device();
            tracer.aim(&engines[device], &job.exes[device]);
            let ctx = tracer.trace(recorded)?;
            if !engines[device].is_in_host_memory() {
                permit.leave_host();
            }
            job.traced(index, &segment);
            let traced = Traced {
                index,
                segment,
                permit,
                reservation,
                ctx,
            };
            if devices[device].send(traced).is_err() {
                break;
            }
        }
        tracer.add_to(&mut lock(&self.report));
        Ok(())
    }

    /// One of a device's threads: proves segments that are brought to it, which the threads take in the order in which they
    /// arrive. A segment for which there is no memory beside the others is made again at the end.
    fn prove(
        &self,
        traced: &Mutex<Receiver<Traced<'_, E>>>,
        proved: &Sender<Proved>,
    ) -> Result<(), SdkError> {
        let next = || lock(traced).recv();
        while let Ok(Traced {
            index,
            segment,
            permit,
            reservation,
            ctx,
        }) = next()
        {
            self.job.options.check_cancelled()?;
            if self.queue.is_stopped() {
                break;
            }
            let device = reservation.device();
            if self.job.fleet.is_excluded(device) {
                self.collector.missing(index, None);
                continue;
            }
            let (proof, time) = match self.job.prove(index, reservation, ctx) {
                Err(error)
                    if matches!(error.device_error(), Some(MetalError::OutOfMemory { .. })) =>
                {
                    tracing::warn!(segment = index, %error, "the segment is proved again, alone, when all others are");
                    self.collector.missing(index, None);
                    continue;
                }
                proved => proved?,
            };
            lock(&self.report).prove += time;
            drop(permit);
            let proved_segment = Proved {
                index,
                segment,
                device,
                proof,
            };
            if proved.send(proved_segment).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// One of the threads that verify and store the proofs of a device, and give them on. What is
    /// refused is made when everything else is: no tracer waits for it.
    fn deliver(&self, proved: &Mutex<Receiver<Proved>>) -> Result<(), SdkError> {
        let next = || lock(proved).recv();
        while let Ok(Proved {
            index,
            segment,
            device,
            proof,
        }) = next()
        {
            match self.job.accept(index, &segment, device, &proof, None)? {
                Accepted::Yes(span) => self.collector.made(index, proof, span)?,
                Accepted::No(refused) => self.collector.missing(index, Some(refused)),
            }
        }
        Ok(())
    }
}
