//! `Machines`: threads that execute a program up to segments, record these and make their traces.

use std::{
    sync::{
        mpsc::{Receiver, SyncSender},
        Arc, Condvar, Mutex, PoisonError, Weak,
    },
    thread::{self, JoinHandle},
};

use openvm_circuit::system::memory::{merkle::public_values::UserPublicValuesProof, CHUNK};
use openvm_sdk::StdIn;
use openvm_stark_backend::prover::ProvingContext;

use super::{
    line::{Line, Waiting},
    walk::Walk,
    Plan,
};
use crate::{
    app::{decoded, executors, AppProver},
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    prelude::F,
    slot::lock,
};

pub(super) type Values = UserPublicValuesProof<CHUNK, F>;
pub(super) type Reply<T> = SyncSender<Result<T, SdkError>>;

/// Requests to a machine. Their callers may give up and drop the other ends.
pub(super) enum Request<E: SdkEngine> {
    /// The traces of a segment.
    Traces {
        index: usize,
        /// Gone when nobody wants them any more.
        wanted: Weak<()>,
        /// Is told that the segment is recorded. Only then a device is chosen: it holds nothing of the segment before.
        recorded: SyncSender<()>,
        device: Receiver<usize>,
        /// With the bytes that the host holds of them.
        traces: Reply<(ProvingContext<E::PB>, Held<E>)>,
    },
    /// The end of the execution.
    End(Reply<Values>),
}

impl<E: SdkEngine> Request<E> {
    /// The segment that the machine has to stand before.
    fn place(&self, segments: usize) -> usize {
        match self {
            Self::Traces { index, .. } => *index,
            Self::End(_) => segments,
        }
    }

    /// True if a caller waits for the answer.
    fn is_wanted(&self) -> bool {
        match self {
            Self::Traces { wanted, .. } => wanted.strong_count() > 0,
            Self::End(_) => true,
        }
    }

    fn refuse(&self, error: SdkError) {
        // Nobody may wait any more.
        match self {
            Self::Traces { traces, .. } => drop(traces.send(Err(error))),
            Self::End(reply) => drop(reply.send(Err(error))),
        }
    }
}

/// Threads, each with a virtual machine of its own. They begin when there is work for them, and end when this is dropped.
pub(super) struct Machines<E: SdkEngine> {
    shared: Arc<Shared<E>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

struct Shared<E: SdkEngine> {
    prover: Arc<AppProver<E>>,
    plan: Arc<Plan>,
    input: StdIn,
    line: Mutex<Line<Request<E>>>,
    changed: Condvar,
}

/// Bytes of records and traces on the host. They count until this is dropped.
pub(super) struct Held<E: SdkEngine> {
    shared: Arc<Shared<E>>,
    bytes: u64,
}

impl<E: SdkEngine> Drop for Held<E> {
    fn drop(&mut self) {
        lock(&self.shared.line).leave(self.bytes);
        self.shared.changed.notify_all();
    }
}

impl<E: SdkEngine> Machines<E> {
    /// `most` machines, and so many bytes of records and traces on the host.
    pub fn new(
        prover: Arc<AppProver<E>>,
        plan: Arc<Plan>,
        input: StdIn,
        most: usize,
        bound: u64,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                prover,
                plan,
                input,
                line: Mutex::new(Line::new(most, bound)),
                changed: Condvar::new(),
            }),
            threads: Mutex::default(),
        }
    }

    /// Other number of machines, at least 1. Those that work go on.
    pub fn set_most(&self, most: usize) {
        lock(&self.shared.line).most = most.max(1);
    }

    /// Most bytes of records and traces on the host.
    pub fn bound(&self) -> u64 {
        lock(&self.shared.line).bound
    }

    /// Other bound on the bytes of records and traces.
    pub fn set_bound(&self, bytes: u64) {
        lock(&self.shared.line).bound = bytes;
    }

    /// Requests that no machine has taken.
    pub fn waiting(&self) -> usize {
        lock(&self.shared.line).waiting.len()
    }

    /// The segments before which machines without work stand.
    pub fn idle_before(&self) -> Vec<usize> {
        lock(&self.shared.line).idle.values().copied().collect()
    }

    /// Most bytes of records and traces that the host held at once.
    pub fn most_held(&self) -> u64 {
        lock(&self.shared.line).most_held()
    }

    /// Stands in line. The host will hold at most so many bytes of what is asked for, and not more than the bound.
    ///
    /// # Errors
    /// If there is no thread and none can be started.
    pub fn ask(&self, request: Request<E>, bytes: u64) -> Result<(), SdkError> {
        let mut line = lock(&self.shared.line);
        line.waiting.push_back(Waiting {
            place: request.place(self.shared.plan.segments().len()),
            bytes,
            request,
        });
        if line.wants_another() {
            let (shared, number) = (self.shared.clone(), line.begun);
            let thread = thread::Builder::new()
                .name(format!("machine-{number}"))
                .spawn(move || shared.serve(number));
            match thread {
                Ok(thread) => {
                    line.begun += 1;
                    lock(&self.threads).push(thread);
                }
                Err(error) if line.begun == 0 => {
                    line.waiting.pop_back();
                    return Err(SdkError::Panicked {
                        stage: Stage::BuildMachine,
                        message: format!("no thread: {error}"),
                        device: None,
                    });
                }
                // Others will do it.
                Err(_) => {}
            }
        }
        drop(line);
        self.shared.changed.notify_all();
        Ok(())
    }
}

impl<E: SdkEngine> Drop for Machines<E> {
    fn drop(&mut self) {
        {
            let mut line = lock(&self.shared.line);
            line.ended = true;
            line.waiting.clear();
        }
        self.shared.changed.notify_all();
        for thread in lock(&self.threads).drain(..) {
            // A panic of the thread was answered as an error of its request.
            let _ = thread.join();
        }
    }
}

/// A request that a machine has taken, with the bytes that the host holds for it.
type Taken<E> = (Request<E>, Held<E>);

impl<E: SdkEngine> Shared<E> {
    /// Answers requests until the line has ended.
    fn serve(self: &Arc<Self>, number: usize) {
        while let Some(taken) = self.take(number, 0) {
            let mut first = Some(taken);
            if let Err(error) = self.work(number, &mut first) {
                // The next request tries again.
                if let Some((request, _)) = first {
                    request.refuse(error);
                }
            }
        }
    }

    /// The next request for a machine that stands before segment `at`. `None` once the line has ended.
    fn take(self: &Arc<Self>, number: usize, at: usize) -> Option<Taken<E>> {
        let mut line = lock(&self.line);
        line.idle.insert(number, at);
        loop {
            if line.ended {
                return None;
            }
            line.waiting.retain(|waiting| waiting.request.is_wanted());
            if let Some((request, bytes)) = line.take(number) {
                if !line.waiting.is_empty() {
                    // It may be another one's now.
                    self.changed.notify_all();
                }
                let shared = self.clone();
                return Some((request, Held { shared, bytes }));
            }
            line = self
                .changed
                .wait(line)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Makes a machine and answers requests with it, that in `first` before all others. What cannot be made leaves it there.
    fn work(self: &Arc<Self>, number: usize, first: &mut Option<Taken<E>>) -> Result<(), SdkError> {
        let prover = &*self.prover;
        let exe = &prover.exe().exe;
        let executors = executors(&prover.keys()[0].config, exe)?;
        let program = decoded(&executors, exe, Vec::new())?;
        let mut walk = Walk::new(prover, &program, self.plan.clone(), self.input.clone())?;
        let mut next = first.take();
        while let Some(taken) = next {
            self.answer(&mut walk, taken);
            next = self.take(number, walk.place());
        }
        Ok(())
    }

    fn has_ended(&self) -> bool {
        lock(&self.line).ended
    }

    fn answer(&self, walk: &mut Walk<'_, E>, (request, held): Taken<E>) {
        // Who asked may have given up; then nobody needs the answer.
        match request {
            Request::Traces {
                index,
                wanted,
                recorded,
                device,
                traces,
            } => {
                let is_wanted = || wanted.strong_count() > 0 && !self.has_ended();
                // After a failure the sender is dropped without a word, and the error is in the place of the traces.
                let choose = move || {
                    let _ = recorded.send(());
                    device.recv().ok()
                };
                let made = settle(walk, Stage::Traces(index), |walk| {
                    walk.traces(index, &is_wanted, choose)
                });
                match made {
                    Ok(Some(ctx)) => drop(traces.send(Ok((ctx, held)))),
                    Ok(None) => {}
                    Err(error) => drop(traces.send(Err(error))),
                }
            }
            Request::End(reply) => {
                let values = settle(walk, Stage::Execute, |walk| walk.end(&|| !self.has_ended()));
                if let Some(values) = values.transpose() {
                    let _ = reply.send(values);
                }
            }
        }
    }
}

/// The result of a step. After a failure the machine is thrown away.
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
