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
    app::{job_id, AppKey},
    engine::{EngineError, SdkEngine},
    error::{guard, SdkError, Stage},
    options::ProveOptions,
    prelude::{F, SC},
    progress::Event,
    sdk::Sdk,
    slot::lock,
};

/// Proves segments of a plan in any order; cheapest in theirs.
///
/// A thread of its own has the virtual machine. It goes on from where it stands if a later segment is asked for, and starts
/// again for an earlier one. Several threads may call at once: traces of one segment are then made while another is proved.
/// Key and committed program are the SDK's and shared with its other workers.
pub struct SegmentWorker<E: SdkEngine> {
    key: Arc<AppKey<E>>,
    plan: Arc<Plan>,
    device_lock: Arc<Mutex<()>>,
    /// Nothing once the worker is dropped.
    requests: Mutex<Option<Sender<Request<E>>>>,
    thread: Option<JoinHandle<()>>,
}

type Values = UserPublicValuesProof<CHUNK, F>;
type Reply<T> = SyncSender<Result<T, SdkError>>;

enum Request<E: SdkEngine> {
    Traces(usize, Reply<ProvingContext<E::PB>>),
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
        let prover = self.app_prover(source)?;
        let key = self.app_key()?;
        let job = job_id(&key, prover.exe(), &input, plan.segment_max_memory());
        if TaskId(job) != plan.job() {
            return Err(SdkError::Plan(format!(
                "it is of job {}, program, input and keys here are job {}",
                plan.job(),
                TaskId(job)
            )));
        }
        let (requests, received) = channel();
        let (device, exe) = (self.device().clone(), prover.exe().clone());
        let (thread_key, thread_plan) = (key.clone(), plan.clone());
        let thread = thread::Builder::new()
            .name("segment-worker".into())
            .spawn(move || {
                let walk = Walk::new(device, thread_key, exe, thread_plan, input);
                serve(walk, received);
            })
            .map_err(|error| SdkError::Panicked {
                stage: Stage::BuildMachine,
                message: format!("no thread: {error}"),
            })?;
        Ok(SegmentWorker {
            key,
            plan,
            device_lock: self.device_lock().clone(),
            requests: Mutex::new(Some(requests)),
            thread: Some(thread),
        })
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
        let ctx = self.ask(|reply| Request::Traces(index, reply))?;
        options.progress.event(Event::SegmentTraced {
            segment: index,
            instructions: segment.num_insns,
        });
        options.check_cancelled()?;
        let held = lock(&self.device_lock);
        let stage = Stage::ProveSegment(index);
        let proof = guard(stage.clone(), || {
            self.key.engine.prove(&self.key.device_key, ctx)
        })?
        .map_err(|error| SdkError::Engine {
            stage,
            source: EngineError::new(error),
        })?;
        drop(held);
        options.progress.event(Event::SegmentProved {
            segment: index,
            instructions: segment.num_insns,
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
        let gone = || SdkError::Panicked {
            stage: Stage::Pipeline,
            message: "the worker's thread has ended".into(),
        };
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
            // Its panics were errors of the requests.
            let _ = thread.join();
        }
    }
}

/// Answers requests until nobody can send any more.
fn serve<E: SdkEngine>(mut walk: Walk<E>, requests: Receiver<Request<E>>) {
    for request in requests {
        // An asker that went away does not want the answer.
        match request {
            Request::Traces(index, reply) => {
                let _ = reply.send(settle(&mut walk, Stage::Traces(index), |walk| {
                    walk.traces(index)
                }));
            }
            Request::End(reply) => {
                let _ = reply.send(settle(&mut walk, Stage::Execute, Walk::end));
            }
        }
    }
}

/// The result of a step. After a panic the machine is thrown away.
fn settle<E: SdkEngine, T>(
    walk: &mut Walk<E>,
    stage: Stage,
    step: impl FnOnce(&mut Walk<E>) -> Result<T, SdkError>,
) -> Result<T, SdkError> {
    let result = guard(stage, || step(walk)).and_then(|result| result);
    if result.is_err() {
        walk.forget();
    }
    result
}
