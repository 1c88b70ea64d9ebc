//! `on_own_thread`: waiting for other threads does not hold one of rayon's.
//!
//! Keys and traces are made on rayon's threads, for which a job's own threads wait, some with a lock. A caller may be one of rayon's threads itself, as
//! in a `par_iter` over inputs: if all of them waited, nobody would do the work that they wait for. A thread of rayon that helps while it has a lock
//! could also begin another call of the same iterator, which needs the lock.

use std::{
    cell::{Cell, RefCell},
    io,
    panic::resume_unwind,
    sync::{
        atomic::{AtomicBool, Ordering},
        Arc,
    },
    thread,
    time::Duration,
};

use rayon::Yield;

use crate::error::SdkError;

/// Most calls that wait on one thread. Each begins inside of the one before, on the same stack.
const MAX_CALLS: usize = 32;

/// Time between two looks for work.
const PAUSE: Duration = Duration::from_micros(200);

thread_local! {
    /// Calls that have not returned on this thread, each inside of the one before.
    static CALLS: Cell<usize> = const { Cell::new(0) };
    /// The work that was begun last by this thread: true once it has ended.
    static LAST: RefCell<Arc<AtomicBool>> = RefCell::new(Arc::new(AtomicBool::new(true)));
}

/// Runs `work`, on another thread if the caller is one of rayon's, which does rayon's other work meanwhile. Among that may be other calls of this
/// function: the work of such a call begins when no other work of this thread is running.
///
/// # Errors
/// Errors of `work`, and [`SdkError::Unsupported`] for too many calls inside of each other.
pub(crate) fn on_own_thread<T: Send>(
    work: impl FnOnce() -> Result<T, SdkError> + Send,
) -> Result<T, SdkError> {
    if rayon::current_thread_index().is_none() {
        return work();
    }
    let _call = Call::begin()?;
    let last = LAST.with_borrow(Arc::clone);
    help_until(|| last.load(Ordering::Acquire));
    thread::scope(|scope| {
        let ended = Ended::default();
        LAST.with_borrow_mut(|last| last.clone_from(&ended.0));
        let running = thread::Builder::new().spawn_scoped(scope, move || {
            let _ended = ended;
            work()
        });
        let running = running.map_err(no_thread)?;
        help_until(|| running.is_finished());
        running.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

fn no_thread(error: io::Error) -> SdkError {
    SdkError::Unsupported(format!(
        "a proof without another thread, which the system refuses: {error}"
    ))
}

/// A call on this thread until it is dropped.
struct Call;

impl Call {
    fn begin() -> Result<Self, SdkError> {
        let calls = CALLS.get();
        if calls == MAX_CALLS {
            return Err(SdkError::Unsupported(format!(
                "more than {MAX_CALLS} calls that wait on one of rayon's threads: make fewer of them at once, or on threads of their own"
            )));
        }
        CALLS.set(calls + 1);
        Ok(Self)
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        CALLS.set(CALLS.get() - 1);
    }
}

/// Work that has ended once this is dropped: at its end, after a panic, or if its thread cannot begin.
#[derive(Default)]
struct Ended(Arc<AtomicBool>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Does rayon's work until something is done.
fn help_until(is_done: impl Fn() -> bool) {
    while !is_done() {
        if rayon::yield_now() != Some(Yield::Executed) {
            thread::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc::channel,
        Mutex,
    };
    use std::time::Instant;

    use rayon::prelude::*;

    use super::*;
    use crate::slot::lock;

    /// Time after which a test goes on and fails.
    const LONG: Duration = Duration::from_secs(30);

    /// Catches calls that wait for ever, each for work of the pool whose threads all wait, and for a lock that one of them has.
    #[test]
    fn calls_on_all_threads_of_a_pool_end() {
        let (sender, receiver) = channel();
        thread::spawn(move || {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(2);
            let pool = pool.build().expect("a pool");
            let (mutex, running, most) = (Mutex::new(()), AtomicUsize::new(0), AtomicUsize::new(0));
            let call = |index: usize| {
                on_own_thread(|| {
                    let now = running.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    let _lock = lock(&mutex);
                    // Work of the pool, for which this thread waits.
                    let sum = pool.install(|| (0..100).into_par_iter().map(|i| i * index).sum());
                    running.fetch_sub(1, Ordering::SeqCst);
                    Ok::<usize, SdkError>(sum)
                })
            };
            let sums: Result<Vec<_>, _> = pool.install(|| {
                let calls = (0..20).into_par_iter().with_max_len(1);
                calls.map(call).collect()
            });
            let _ = sender.send((sums, most.into_inner()));
        });
        let ended = receiver.recv_timeout(Duration::from_secs(60));
        let (sums, most) = ended.expect("calls that end");
        let expected: Vec<usize> = (0..20).map(|index| 4950 * index).collect();
        assert_eq!(sums.expect("sums"), expected);
        assert!(most <= 2, "{most} at once on 2 threads");
    }

    #[test]
    fn errors_and_panics_are_those_of_the_work() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.expect("a pool");
        let refused = || Err::<(), _>(SdkError::Cancelled);
        let refused = pool.install(|| on_own_thread(refused));
        assert!(matches!(refused, Err(SdkError::Cancelled)));
        let panics =
            || pool.install(|| on_own_thread(|| -> Result<(), SdkError> { panic!("work") }));
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
        assert!(panic.is_err());
        // The next one does not wait for that.
        assert!(pool.install(|| on_own_thread(|| Ok(()))).is_ok());
    }

    #[test]
    fn calls_inside_of_each_other_are_bounded() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.expect("a pool");
        let results = Mutex::new(Vec::<bool>::new());
        pool.scope(|scope| {
            for _ in 0..3 * MAX_CALLS {
                scope.spawn(|_| {
                    // The work waits until the pool has begun all calls.
                    let result = on_own_thread(|| {
                        let refused = || lock(&results).iter().filter(|made| !**made).count();
                        let clock = Instant::now();
                        while refused() < 2 * MAX_CALLS && clock.elapsed() < LONG {
                            thread::sleep(Duration::from_millis(1));
                        }
                        Ok(())
                    });
                    lock(&results).push(result.is_ok());
                });
            }
        });
        let results = results.into_inner().expect("results");
        let made = results.iter().filter(|is_made| **is_made).count();
        assert_eq!(results.len(), 3 * MAX_CALLS);
        assert_eq!(made, MAX_CALLS);
    }
}
