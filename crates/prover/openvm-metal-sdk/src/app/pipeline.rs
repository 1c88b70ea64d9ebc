//! Segments of an execution on several threads and devices.
//!
//! One thread cuts the execution into segments. Machines, each on a thread, take segments as they are cut: a machine
//! runs to the start of its segment without records, records it, and makes its traces on the device that is
//! expected to end its proof first. Each device has a thread for each proof that it makes at once. Segments are
//! in flight from when a machine takes them until they are proved, and their number is bounded. Proofs are verified and stored beside
//! the next ones. What is refused, and what turns out to be missing, is made at the end, one segment after another.

use std::{
    sync::{
        mpsc::{channel, Receiver, Sender},
        Arc, Mutex, PoisonError,
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
    collect::Collector,
    job::{Accepted, Job, Segments},
    machine::MeteredRun,
    plan::{Bounds, Place, Plan, Taken},
    runner::{executor, runner, Runner},
    sequence::make_missing,
    sink::ProofSink,
    AppKey,
};
use crate::{
    devices::Reservation,
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    options::Threads,
    prelude::{F, SC},
    report::Report,
    slot::lock,
};

/// Threads for each device that verify what it made. Of small segments a GPU makes two in the time of one verification.
const VERIFIERS: usize = 4;

/// A segment whose traces are on a device.
struct Traced<'a, E: SdkEngine> {
    index: usize,
    segment: Segment,
    place: Place<'a>,
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
struct Line<'a, E: SdkEngine> {
    job: &'a Job<'a, E>,
    plan: Plan,
    collector: Collector<'a, E>,
    report: Mutex<Report>,
    /// The first error. Later ones are consequences of it.
    error: Mutex<Option<SdkError>>,
}

/// Proves all segments on several threads; see the module.
pub(super) fn run<E: SdkEngine>(
    job: &Job<'_, E>,
    input: StdIn,
    sink: &dyn ProofSink,
    report: &mut Report,
    threads: Threads,
) -> Result<Segments, SdkError> {
    let executor = executor(&job.keys[0].config, &job.exes[0].exe)?;
    let runner = runner(&executor, &job.exes[0].exe)?;
    let line = Line {
        job,
        plan: Plan::new(Bounds {
            segments: threads.in_flight,
            bytes: job.host_memory,
        }),
        collector: Collector::new(job, sink),
        report: Mutex::default(),
        error: Mutex::default(),
    };
    let metered = thread::scope(|scope| {
        let (line, runner) = (&line, &runner);
        let (senders, receivers): (Vec<_>, Vec<_>) =
            job.keys.iter().map(|_| channel::<Traced<'_, E>>()).unzip();
        for (traced, proofs) in receivers.into_iter().zip(job.fleet.proofs_at_once()) {
            let traced = Arc::new(Mutex::new(traced));
            let (sender, proved) = channel();
            for _ in 0..proofs {
                let (traced, sender) = (traced.clone(), sender.clone());
                scope.spawn(move || line.thread(|| line.prove(&traced, &sender)));
            }
            // Beside the proofs: the device does not wait for it.
            let proved = Arc::new(Mutex::new(proved));
            for _ in 0..VERIFIERS {
                let proved = proved.clone();
                scope.spawn(move || line.thread(|| line.deliver(&proved)));
            }
        }
        for _ in 0..threads.machines {
            let (senders, input) = (senders.clone(), input.clone());
            scope.spawn(move || line.thread(|| line.make(runner, input, &senders)));
        }
        // Devices have all their segments when the last machine ends.
        drop(senders);
        line.thread(|| line.meter(input.clone()))
    });
    if let Some(error) = line
        .error
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
    {
        return Err(error);
    }
    let Some(Some(metered)) = metered else {
        return Err(SdkError::Cancelled);
    };
    let segments = &metered.run.segments;
    if line.collector.is_missing() {
        let machine = job.machine()?;
        make_missing(
            job,
            machine,
            &runner,
            input,
            segments,
            &line.collector,
            report,
        )?;
    }
    report.execution = metered.time;
    report.instructions = metered.run.instructions();
    let cells = metered.run.segments.iter().map(|s| job.keys[0].cells(s));
    report.cells = cells.sum();
    report.segments = segments.len();
    report.host_traces_peak = report.host_traces_peak.max(line.plan.most_held());
    report.add(
        &line
            .report
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner),
    );
    Ok(Segments {
        proofs: line.collector.finish(segments.len(), report)?,
        user_public_values: metered.user_public_values,
    })
}

/// Results of the metering thread.
struct Metered {
    run: MeteredRun,
    time: Duration,
    user_public_values: UserPublicValuesProof<CHUNK, F>,
}

impl<E: SdkEngine> Line<'_, E> {
    /// Runs a thread's work; its panics are errors too. The first error stops all threads.
    fn thread<T>(&self, work: impl FnOnce() -> Result<T, SdkError>) -> Option<T> {
        guard(Stage::Pipeline, work)
            .and_then(|result| result)
            .map_err(|error| {
                lock(&self.error).get_or_insert(error);
                self.plan.stop();
            })
            .ok()
    }

    /// Cuts the execution into segments. Gives nothing if nobody takes them any more: another thread failed, and
    /// its error is the one to tell.
    fn meter(&self, input: StdIn) -> Result<Option<Metered>, SdkError> {
        let machine = self.job.machine()?;
        let clock = Instant::now();
        let mut taken = true;
        let mut index = 0;
        let run = machine.execute_metered(input, self.job.options, |segment| {
            let bytes = self.job.host_bytes(index, segment)?;
            index += 1;
            taken = self.plan.add(segment.clone(), bytes);
            taken.then_some(()).ok_or(SdkError::Cancelled)
        });
        let run = match run {
            Err(_) if !taken => return Ok(None),
            run => run?,
        };
        let time = clock.elapsed();
        self.plan.end();
        let user_public_values = machine.public_values_in(&run.memory);
        self.collector
            .end(run.segments.len(), &user_public_values)?;
        Ok(Some(Metered {
            run,
            time,
            user_public_values,
        }))
    }

    /// A machine: records segments and makes their traces, until there are no more.
    fn make<'b>(
        &'b self,
        runner: &Runner<'_>,
        input: StdIn,
        devices: &[Sender<Traced<'b, E>>],
    ) -> Result<(), SdkError> {
        let job = self.job;
        let mut machine = job.machine()?;
        let engines = job.keys.iter().map(AppKey::another_engine);
        let engines = engines.collect::<Result<Vec<_>, _>>()?;
        machine.start(input);
        while let Some(taken) = self.plan.take() {
            let Taken {
                index,
                segment,
                mut place,
            } = taken;
            job.options.check_cancelled()?;
            if let Some((proof, span)) = job.resumed(index, &segment)? {
                drop(place);
                self.collector.found(index, &segment, proof, span)?;
                continue;
            }
            machine.go_to(runner, index, &segment)?;
            let recorded = machine.record(index, &segment)?;
            let reservation = job.reserve(&segment, None)?;
            if self.plan.is_stopped() {
                break;
            }
            let device = reservation.device();
            machine.aim(&engines[device], &job.exes[device]);
            let ctx = machine.trace(recorded)?;
            if !engines[device].is_in_host_memory() {
                place.leave_host();
            }
            job.traced(index, &segment);
            let traced = Traced {
                index,
                segment,
                place,
                reservation,
                ctx,
            };
            if devices[device].send(traced).is_err() {
                break;
            }
        }
        machine.add_to(&mut lock(&self.report));
        Ok(())
    }

    /// One of a device's threads: proves segments that are brought to it, which the threads take in the order in which they
    /// arrive.
    fn prove(
        &self,
        traced: &Mutex<Receiver<Traced<'_, E>>>,
        proved: &Sender<Proved>,
    ) -> Result<(), SdkError> {
        let next = || lock(traced).recv();
        while let Ok(Traced {
            index,
            segment,
            place,
            reservation,
            ctx,
        }) = next()
        {
            self.job.options.check_cancelled()?;
            if self.plan.is_stopped() {
                break;
            }
            let device = reservation.device();
            if self.job.fleet.is_excluded(device) {
                self.collector.missing(index, None);
                continue;
            }
            let (proof, time) = self.job.prove(index, reservation, ctx)?;
            lock(&self.report).prove += time;
            drop(place);
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
    /// refused is made when everything else is: the machines are past it.
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
