//! `SegmentWorker`: proves any segment of a plan.

use std::{
    sync::{
        mpsc::{channel, sync_channel, Receiver, Sender, SyncSender},
        Arc, Mutex,
    },
    thread::{self, JoinHandle},
};

use openvm_circuit::system::memory::{merkle::public_values::UserPublicValuesProof, CHUNK};
use openvm_sdk::{types::ExecutableFormat, StdIn};
use openvm_stark_backend::{proof::Proof, prover::ProvingContext};

use super::{walk::Walk, Plan, TaskId};
use crate::{
    app::{executor, job_id, runner, AppKey, AppProver},
    devices::Work,
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    options::ProveOptions,
    prelude::{F, SC},
    progress::Event,
    sdk::Sdk,
    slot::lock,
};

/// Proves segments of a plan in any order. Ascending is cheapest: for an earlier segment the program is executed from the
/// start again.
///
/// A thread of its own has the virtual machine. Several threads may call at once: traces of one segment are then made while another is proved.
/// Keys and committed programs are the SDK's and shared with its other workers; so are its devices.
pub struct SegmentWorker<E: SdkEngine> {
    prover: Arc<AppProver<E>>,
    plan: Arc<Plan>,
    /// Nothing once the worker is dropped.
    requests: Mutex<Option<Sender<Request<E>>>>,
    thread: Option<JoinHandle<()>>,
}

type Values = UserPublicValuesProof<CHUNK, F>;
type Reply<T> = SyncSender<Result<T, SdkError>>;

enum Request<E: SdkEngine> {
    /// Of a segment, on a device.
    Traces(usize, usize, Reply<ProvingContext<E::PB>>),
    End(Reply<Values>),
}

impl<E: SdkEngine> Sdk<E> {
    /// A worker for the segments of a plan.
    ///
    /// # Errors
    /// [`SdkError::Plan`] if the plan is of another program, input or configuration.
    pub fn segment_worker(
        &self,
        source: impl Into<ExecutableFormat>,
        input: StdIn,
        plan: Arc<Plan>,
    ) -> Result<SegmentWorker<E>, SdkError> {
        self.worker_of(self.app_prover(source)?, input, plan)
    }

    pub(crate) fn worker_of(
        &self,
        prover: AppProver<E>,
        input: StdIn,
        plan: Arc<Plan>,
    ) -> Result<SegmentWorker<E>, SdkError> {
        let prover = Arc::new(prover);
        let key = &prover.keys()[0];
        let job = job_id(key, prover.exe(), &input, plan.segment_max_memory());
        if TaskId(job) != plan.job() {
            return Err(SdkError::Plan(format!(
                "it is of job {}, program, input and keys here are job {}",
                plan.job(),
                TaskId(job)
            )));
        }
        let (requests, received) = channel();
        let (ready, started) = sync_channel(1);
        let (thread_prover, thread_plan) = (prover.clone(), plan.clone());
        let thread = thread::Builder::new()
            .name("segment-worker".into())
            .spawn(move || serve(&thread_prover, thread_plan, input, &ready, received))
            .map_err(|error| SdkError::Panicked {
                stage: Stage::BuildMachine,
                message: format!("no thread: {error}"),
                device: None,
            })?;
        let worker = SegmentWorker {
            prover,
            plan,
            requests: Mutex::new(Some(requests)),
            thread: Some(thread),
        };
        started.recv().map_err(|_| gone())??;
        Ok(worker)
    }
}

fn gone() -> SdkError {
    SdkError::Panicked {
        stage: Stage::Pipeline,
        message: "the worker's thread has ended".into(),
        device: None,
    }
}

impl<E: SdkEngine> SegmentWorker<E> {
    /// The plan.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }

    /// Proves a segment. Of the options, progress and cancelling are used.
    ///
    /// # Errors
    /// What goes wrong in the guest or on the device; [`SdkError::Plan`] if the plan has no such segment.
    pub fn prove(&self, index: usize, options: &ProveOptions<'_>) -> Result<Proof<SC>, SdkError> {
        let segment = self.plan.segment(index)?;
        options.check_cancelled()?;
        let keys = self.prover.keys();
        let fleet = self.prover.fleet();
        let trace_bytes = keys[0].trace_bytes(segment);
        let reservation = fleet.reserve(Work::Segment { trace_bytes });
        let device = reservation.device();
        let ctx = self.ask(|reply| Request::Traces(index, device, reply))?;
        options.progress.event(Event::SegmentTraced {
            segment: index,
            instructions: segment.num_insns,
        });
        options.check_cancelled()?;
        let AppKey {
            engine, device_key, ..
        } = &keys[device];
        let stage = Stage::ProveSegment(index);
        let (proof, _) = fleet.prove(reservation, stage, engine, device_key, ctx)?;
        options.progress.event(Event::SegmentProved {
            segment: index,
            instructions: segment.num_insns,
            device: fleet.name(device),
        });
        Ok(proof)
    }

    /// What the guest revealed, with its path in the memory at the end of the execution.
    ///
    /// # Errors
    /// What goes wrong in the guest.
    pub fn end(&self) -> Result<UserPublicValuesProof<CHUNK, F>, SdkError> {
        self.ask(Request::End)
    }

    fn ask<T>(&self, request: impl FnOnce(Reply<T>) -> Request<E>) -> Result<T, SdkError> {
        let (reply, answer) = sync_channel(1);
        let requests = lock(&self.requests).clone().ok_or_else(gone)?;
        requests.send(request(reply)).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?
    }
}

impl<E: SdkEngine> Drop for SegmentWorker<E> {
    fn drop(&mut self) {
        lock(&self.requests).take();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was answered as an error of its request.
            let _ = thread.join();
        }
    }
}

/// Says whether it is ready, then answers requests until nobody can send any more.
fn serve<E: SdkEngine>(
    prover: &AppProver<E>,
    plan: Arc<Plan>,
    input: StdIn,
    ready: &SyncSender<Result<(), SdkError>>,
    requests: Receiver<Request<E>>,
) {
    // The receiver exists: the worker is returned only after this answer.
    let failed = |error| drop(ready.send(Err(error)));
    let executor = match executor(&prover.keys()[0].config) {
        Ok(executor) => executor,
        Err(error) => return failed(error),
    };
    let runner = match runner(&executor, &prover.exe().exe) {
        Ok(runner) => runner,
        Err(error) => return failed(error),
    };
    let mut walk = match Walk::new(prover, &runner, plan, input) {
        Ok(walk) => walk,
        Err(error) => return failed(error),
    };
    let _ = ready.send(Ok(()));
    for request in requests {
        // The caller may have given up; then nobody needs the answer.
        match request {
            Request::Traces(index, device, reply) => {
                let _ = reply.send(settle(&mut walk, Stage::Traces(index), |walk| {
                    walk.traces(index, device)
                }));
            }
            Request::End(reply) => {
                let _ = reply.send(settle(&mut walk, Stage::Execute, Walk::end));
            }
        }
    }
}

/// The result of a step. After a panic the machine is thrown away.
fn settle<'a, E: SdkEngine, T>(
    walk: &mut Walk<'a, E>,
    stage: Stage,
    step: impl FnOnce(&mut Walk<'a, E>) -> Result<T, SdkError>,
) -> Result<T, SdkError> {
    let result = guard(stage, || step(walk)).and_then(|result| result);
    if result.is_err() {
        walk.forget();
    }
    result
}
