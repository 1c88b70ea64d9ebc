//! Host work beside a thread that waits for the device.

use std::{
    any::Any,
    panic::{catch_unwind, resume_unwind, AssertUnwindSafe},
    sync::{
        mpsc::{sync_channel, Receiver},
        Arc, Mutex, OnceLock, PoisonError,
    },
};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Threads for such work, enough for the plans of two proofs that are made at once on a device; on several devices the thread that needs a plan may have to make
/// it. They do nothing else, so that nobody waits for traces that are made, and they are there already, which takes a process of many threads less time than to begin one.
const THREADS: usize = 4;

fn helpers() -> Option<&'static ThreadPool> {
    static HELPERS: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let begin = || {
        let builder = ThreadPoolBuilder::new().num_threads(THREADS);
        builder.thread_name(|_| "plan".into()).build().ok()
    };
    HELPERS.get_or_init(begin).as_ref()
}

type Work<A> = Arc<Mutex<Option<Box<dyn FnOnce() -> A + Send>>>>;

/// Work that a helper does when it can, while this thread goes on. If it uses rayon, helpers share its pieces. Dropped before a helper has begun it,
/// it is not done; a helper that has begun is waited for, so that what the work holds is free afterwards.
pub(crate) struct Later<A> {
    /// Until somebody has begun it.
    work: Work<A>,
    /// Until it is joined.
    done: Option<Receiver<Result<A, Box<dyn Any + Send>>>>,
}

impl<A: Send + 'static> Later<A> {
    /// To be done when a helper is free.
    pub fn new(work: impl FnOnce() -> A + Send + 'static) -> Self {
        let work: Work<A> = Arc::new(Mutex::new(Some(Box::new(work))));
        let (send, done) = sync_channel(1);
        if let Some(helpers) = helpers() {
            let work = work.clone();
            helpers.spawn(move || {
                if let Some(work) = begin(&work) {
                    // Nobody waits for it after an error.
                    let _ = send.send(catch_unwind(AssertUnwindSafe(work)));
                }
            });
        }
        Self {
            work,
            done: Some(done),
        }
    }

    /// Waits for the result. The work is done here if no helper has begun it.
    pub fn join(mut self) -> A {
        let done = self.done.take();
        if let Some(work) = begin(&self.work) {
            return work();
        }
        let sent = done.and_then(|done| done.recv().ok());
        match sent.expect("a helper that began sends") {
            Ok(done) => done,
            Err(panic) => resume_unwind(panic),
        }
    }
}

impl<A> Drop for Later<A> {
    fn drop(&mut self) {
        let Some(done) = self.done.take() else {
            return;
        };
        if begin(&self.work).is_none() {
            // An error or a panic has already ended what would have joined it.
            let _ = done.recv();
        }
    }
}

fn begin<A>(work: &Work<A>) -> Option<Box<dyn FnOnce() -> A + Send>> {
    work.lock().unwrap_or_else(PoisonError::into_inner).take()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{panic, sync::Barrier};

    /// Also more than there are helpers, and those whose results nobody wants.
    #[test]
    fn later_work_is_done_once() {
        let counted = Arc::new(Mutex::new(0));
        let later = |k: usize| {
            let counted = counted.clone();
            Later::new(move || {
                *counted.lock().unwrap() += 1;
                2 * k
            })
        };
        let works: Vec<_> = (0..100).map(later).collect();
        let done: Vec<usize> = works.into_iter().map(Later::join).collect();
        assert_eq!(done, (0..100).map(|k| 2 * k).collect::<Vec<_>>());
        assert_eq!(*counted.lock().unwrap(), 100);
        drop(later(0));
        // One that was begun is waited for.
        let (begun, dropped) = (Arc::new(Barrier::new(2)), Arc::new(Mutex::new(false)));
        let (of_work, done) = (begun.clone(), dropped.clone());
        if helpers().is_some() {
            let work = Later::new(move || {
                of_work.wait();
                std::thread::sleep(std::time::Duration::from_millis(20));
                *done.lock().unwrap() = true;
            });
            begun.wait();
            drop(work);
            assert!(*dropped.lock().unwrap());
        }
    }

    #[test]
    fn a_panic_of_later_work_goes_on_where_it_is_joined() {
        for waits in [false, true] {
            let work = Later::new(|| assert!(std::hint::black_box(false), "meant"));
            while waits && helpers().is_some() && work.work.lock().unwrap().is_some() {
                std::thread::yield_now();
            }
            assert!(panic::catch_unwind(AssertUnwindSafe(|| work.join())).is_err());
        }
        assert_eq!(Later::new(|| 5).join(), 5);
    }

    /// A thread of a pool of one is not given other work of that pool, and all threads of rayon's may be at other things.
    #[test]
    fn nobody_waits_for_busy_threads() {
        let later = || assert_eq!(Later::new(|| 2).join(), 2);
        let one = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        one.install(later);
        let all = rayon::current_num_threads();
        let barrier = Barrier::new(all + 1);
        rayon::in_place_scope(|scope| {
            for _ in 0..all {
                scope.spawn(|_| {
                    barrier.wait();
                });
            }
            later();
            barrier.wait();
        });
    }

    #[test]
    fn many_at_once() {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for k in 0..100 {
                        let works = [0, 1, 2].map(|i| Later::new(move || k + i));
                        assert_eq!(works.map(Later::join), [k, k + 1, k + 2]);
                    }
                });
            }
        });
    }
}
