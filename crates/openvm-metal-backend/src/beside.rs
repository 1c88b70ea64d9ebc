//! Host work beside a thread that waits for the device.

use std::sync::{Mutex, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

/// Threads for such work: two proofs are made at once on a device. They do nothing else, so that nobody waits for traces that are made,
/// and they are there already, which takes a process of many threads less time than to begin one.
const THREADS: usize = 2;

fn helpers() -> Option<&'static ThreadPool> {
    static HELPERS: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let begin = || {
        let builder = ThreadPoolBuilder::new().num_threads(THREADS);
        builder.thread_name(|_| "plan".into()).build().ok()
    };
    HELPERS.get_or_init(begin).as_ref()
}

/// What `work` gives, on a thread of its own, and `own`, on this one. `work` that has not begun when `own` is done is done here: then all
/// helpers are at work, or there is no thread to be had.
///
/// `work` must not use rayon: its pieces would go to the helpers.
pub(crate) fn beside<A: Send, B>(
    work: impl FnOnce() -> A + Send,
    own: impl FnOnce() -> B,
) -> (A, B) {
    let waiting = Mutex::new(Some(work));
    let done = Mutex::new(None);
    let begin = || {
        let work = waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(work) = work {
            let result = work();
            *done.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        }
    };
    let own = match helpers() {
        Some(helpers) => helpers.in_place_scope(|scope| {
            scope.spawn(|_| begin());
            let own = own();
            begin();
            own
        }),
        None => {
            begin();
            own()
        }
    };
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    (done.expect("one of both did the work"), own)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{panic, sync::Barrier};

    #[test]
    fn both_are_done_and_a_panic_of_either_goes_on() {
        assert_eq!(beside(|| 2, || 3), (2, 3));
        for first in [false, true] {
            let both = || {
                let of = |fails: bool| assert!(!fails, "meant");
                beside(|| of(first), || of(!first))
            };
            assert!(panic::catch_unwind(both).is_err());
        }
    }

    /// A thread of a pool of one is not given other work of that pool, and all threads of rayon's may be at other things.
    #[test]
    fn nobody_waits_for_busy_threads() {
        let one = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        one.install(|| assert_eq!(beside(|| 2, || 3), (2, 3)));
        let all = rayon::current_num_threads();
        let barrier = Barrier::new(all + 1);
        rayon::in_place_scope(|scope| {
            for _ in 0..all {
                scope.spawn(|_| {
                    barrier.wait();
                });
            }
            assert_eq!(beside(|| 2, || 3), (2, 3));
            barrier.wait();
        });
    }

    #[test]
    fn many_at_once() {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for k in 0..100 {
                        assert_eq!(
                            beside(|| k, || beside(|| k + 1, || k + 2)),
                            (k, (k + 1, k + 2))
                        );
                    }
                });
            }
        });
    }
}
