//! `Machines`: threads that execute a program up to segments, record these and make their traces.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{
        mpsc::{Receiver, SyncSender},
        Arc, Condvar, Mutex, PoisonError, Weak,
    },
    thread::{self, JoinHandle},
};

use openvm_circuit::system::memory::{merkle::public_values::UserPublicValuesProof, CHUNK};
use openvm_sdk::StdIn;
use openvm_stark_backend::prover::ProvingContext;

use super::{walk::Walk, Plan};
use crate::{
    app::{executor, runner, AppProver},
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    prelude::F,
    slot::lock,
};

pub(super) type Values = UserPublicValuesProof<CHUNK, F>;
pub(super) type Reply<T> = SyncSender<Result<T, SdkError>>;

/// What a machine is asked for. Who asked may give up and drop the other ends.
pub(super) enum Request<E: SdkEngine> {
    /// The traces of a segment.
    Traces {
        index: usize,
        /// Gone when nobody wants them any more.
        wanted: Weak<()>,
        /// Is told that the segment is recorded. Only then a device is chosen: it holds nothing of the segment before.
        recorded: SyncSender<()>,
        device: Receiver<usize>,
        traces: Reply<ProvingContext<E::PB>>,
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

/// Who waits for what. `R` is a request, with the segment before which it needs a machine.
struct Line<R> {
    waiting: VecDeque<(usize, R)>,
    /// Machines without work, by number, with the segment before which each stands.
    idle: BTreeMap<usize, usize>,
    /// Number of threads that were begun, and the most that may be.
    begun: usize,
    most: usize,
    ended: bool,
}

impl<R> Line<R> {
    fn new(most: usize) -> Self {
        Self {
            waiting: VecDeque::new(),
            idle: BTreeMap::new(),
            begun: 0,
            most,
            ended: false,
        }
    }

    /// True if a request waits for which there is no machine without work, and another machine may begin.
    fn wants_another(&self) -> bool {
        self.waiting.len() > self.idle.len() && self.begun < self.most
    }

    /// The machine without work that reaches a segment by the shortest way: the nearest one before it. Those behind it have to start
    /// again, of them that which has gone least.
    fn nearest(&self, place: usize) -> Option<usize> {
        let before = self.idle.iter().filter(|(_, &at)| at <= place);
        let nearest = before.max_by_key(|(&number, &at)| (at, usize::MAX - number));
        let nearest = nearest.or_else(|| self.idle.iter().min_by_key(|(_, &at)| at));
        nearest.map(|(&number, _)| number)
    }

    /// The first request, if machine `number` is to take it.
    fn take(&mut self, number: usize) -> Option<R> {
        let (place, _) = self.waiting.front()?;
        if self.nearest(*place) != Some(number) {
            return None;
        }
        self.idle.remove(&number);
        self.waiting.pop_front().map(|(_, request)| request)
    }
}

impl<E: SdkEngine> Machines<E> {
    pub fn new(prover: Arc<AppProver<E>>, plan: Arc<Plan>, input: StdIn, most: usize) -> Self {
        Self {
            shared: Arc::new(Shared {
                prover,
                plan,
                input,
                line: Mutex::new(Line::new(most)),
                changed: Condvar::new(),
            }),
            threads: Mutex::default(),
        }
    }

    /// Other number of machines, at least 1. Those that work go on.
    pub fn set_most(&self, most: usize) {
        lock(&self.shared.line).most = most.max(1);
    }

    /// Stands in line.
    ///
    /// # Errors
    /// If there is no thread and none can be started.
    pub fn ask(&self, request: Request<E>) -> Result<(), SdkError> {
        let place = request.place(self.shared.plan.segments().len());
        let mut line = lock(&self.shared.line);
        line.waiting.push_back((place, request));
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

impl<E: SdkEngine> Shared<E> {
    /// Answers requests until the line has ended.
    fn serve(&self, number: usize) {
        while let Some(request) = self.take(number, 0) {
            let mut first = Some(request);
            if let Err(error) = self.work(number, &mut first) {
                // The next request tries again.
                if let Some(request) = first {
                    request.refuse(error);
                }
            }
        }
    }

    /// The next request for a machine that stands before segment `at`. `None` once the line has ended.
    fn take(&self, number: usize, at: usize) -> Option<Request<E>> {
        let mut line = lock(&self.line);
        line.idle.insert(number, at);
        loop {
            if line.ended {
                return None;
            }
            if let Some(request) = line.take(number) {
                if !line.waiting.is_empty() {
                    // It may be another one's now.
                    self.changed.notify_all();
                }
                return Some(request);
            }
            line = self
                .changed
                .wait(line)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Makes a machine and answers requests with it, that in `first` before all others. What cannot be made leaves it there.
    fn work(&self, number: usize, first: &mut Option<Request<E>>) -> Result<(), SdkError> {
        let prover = &*self.prover;
        let executor = executor(&prover.keys()[0].config)?;
        let runner = runner(&executor, &prover.exe().exe)?;
        let mut walk = Walk::new(prover, &runner, self.plan.clone(), self.input.clone())?;
        let mut next = first.take();
        while let Some(request) = next {
            answer(&mut walk, request);
            next = self.take(number, walk.place());
        }
        Ok(())
    }
}

fn answer<E: SdkEngine>(walk: &mut Walk<'_, E>, request: Request<E>) {
    // Who asked may have given up; then nobody needs the answer.
    match request {
        Request::Traces {
            index,
            wanted,
            recorded,
            device,
            traces,
        } => {
            if wanted.strong_count() == 0 {
                return;
            }
            // After a failure the sender is dropped without a word, and the error is in the place of the traces.
            let choose = move || {
                let _ = recorded.send(());
                device.recv().ok()
            };
            let made = settle(walk, Stage::Traces(index), |walk| {
                walk.traces(index, choose)
            });
            match made {
                Ok(Some(ctx)) => drop(traces.send(Ok(ctx))),
                Ok(None) => {}
                Err(error) => drop(traces.send(Err(error))),
            }
        }
        Request::End(reply) => {
            let _ = reply.send(settle(walk, Stage::Execute, Walk::end));
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

#[cfg(test)]
mod tests {
    use super::Line;

    #[test]
    fn a_request_goes_to_the_nearest_machine_before_it() {
        let mut line = Line::new(4);
        line.idle.extend([(0, 7), (1, 3), (2, 5)]);
        for (place, machine) in [(9, 0), (7, 0), (6, 2), (4, 1), (3, 1)] {
            assert_eq!(line.nearest(place), Some(machine), "{place}");
        }
        // All are past it: that which has gone least starts again.
        assert_eq!(line.nearest(1), Some(1));
        line.waiting.extend([(6, "six"), (8, "eight")]);
        assert_eq!((line.take(0), line.take(1)), (None, None));
        assert_eq!(line.take(2), Some("six"));
        assert_eq!((line.take(2), line.take(0)), (None, Some("eight")));
        assert_eq!(line.idle.len(), 1);
    }

    #[test]
    fn machines_begin_when_none_is_without_work() {
        let mut line = Line::new(2);
        assert!(!line.wants_another());
        line.waiting.push_back((0, ()));
        assert!(line.wants_another());
        line.begun = 1;
        line.idle.insert(0, 0);
        assert!(!line.wants_another());
        line.waiting.push_back((1, ()));
        assert!(line.wants_another());
        line.begun = 2;
        assert!(!line.wants_another());
    }
}
