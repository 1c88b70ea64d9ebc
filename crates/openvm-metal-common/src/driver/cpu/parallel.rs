//! Ranges of work on several threads, for dispatches that take from a microsecond to minutes.
//!
//! The caller starts alone and asks for help only when the first microseconds show that it pays, so
//! a tiny dispatch costs a function call. Helpers are jobs on the current rayon pool. Unlike in
//! `rayon::join` the caller never runs somebody else's job while it waits: such a job might encode
//! work of its own in the middle of this dispatch.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::Thread;
use std::time::{Duration, Instant};

/// The caller works alone for this long before it decides.
const PROBE: Duration = Duration::from_micros(5);
/// Work that would take the caller less than this is finished alone.
const WORTH_HELP_NS: f64 = 20_000.0;
/// Shortest piece of work that is handed out.
const MIN_CHUNK_NS: f64 = 10_000.0;
/// Pieces per thread, so that threads that start late or run slowly do not hold up the rest.
const CHUNKS_PER_THREAD: u64 = 6;
/// Longest piece of work, unless one unit takes longer: nobody waits longer than that for the thread that took the last one.
const MAX_CHUNK_NS: f64 = 2_000_000.0;

type Body<'a> = dyn Fn(u64, u64) + Sync + 'a;

struct Job {
    /// Borrowed from the caller of [`run`], with its lifetime erased.
    body: *const Body<'static>,
    next: AtomicU64,
    end: u64,
    chunk: u64,
    helpers: usize,
    /// Helpers that may be inside `body`.
    active: AtomicUsize,
    caller: Thread,
}

// SAFETY: `body` is `Sync` and used only while its owner waits in `run`, see `Job::work`.
unsafe impl Send for Job {}
// SAFETY: as above; everything else is atomic or constant.
unsafe impl Sync for Job {}

impl Job {
    /// Takes pieces until none are left.
    fn work(&self) {
        loop {
            // AcqRel: a helper that got a piece is seen as active by a caller that finds none left.
            let begin = self.next.fetch_add(self.chunk, Ordering::AcqRel);
            if begin >= self.end {
                return;
            }
            // SAFETY: this thread got a piece, so the caller has not returned from `run`: it does so
            // only after it found no piece left and, after that, no helper active; a helper counts
            // itself as active before it asks for a piece.
            unsafe { (*self.body)(begin, self.end.min(begin + self.chunk)) };
        }
    }

    fn help(self: Arc<Self>, index: usize) {
        self.active.fetch_add(1, Ordering::AcqRel);
        if self.next.load(Ordering::Acquire) < self.end {
            self.recruit(2 * index + 1);
            self.recruit(2 * index + 2);
            self.work();
        }
        if self.active.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.caller.unpark();
        }
    }

    /// Starts helper `index`; each starts two more, so that waking many takes few steps.
    fn recruit(self: &Arc<Self>, index: usize) {
        if index < self.helpers {
            let job = self.clone();
            rayon::spawn(move || job.help(index));
        }
    }
}

/// Calls `body(begin, end)` for ranges that cover `0..total` once, and returns when all are done.
/// `first`: size of the first range, something that takes well under 5 microseconds. The body must not
/// panic.
pub(super) fn run(total: u64, first: u64, body: &Body) {
    if total <= first {
        return body(0, total);
    }
    let threads = rayon::current_num_threads();
    if threads == 1 {
        return body(0, total);
    }
    let start = Instant::now();
    let (mut done, mut batch) = (0, first.max(1));
    let spent = loop {
        body(done, done + batch);
        done += batch;
        if done == total {
            return;
        }
        let spent = start.elapsed();
        if spent >= PROBE {
            break spent;
        }
        batch = (batch * 2).min(total - done);
    };
    let rest = total - done;
    let unit_ns = spent.as_nanos() as f64 / done as f64;
    if unit_ns * (rest as f64) < WORTH_HELP_NS {
        return body(done, total);
    }
    let even = rest.div_ceil(threads as u64 * CHUNKS_PER_THREAD);
    let longest = (MAX_CHUNK_NS / unit_ns) as u64;
    let chunk = even
        .min(longest)
        .max((MIN_CHUNK_NS / unit_ns) as u64)
        .max(1);
    let body: *const Body<'_> = body;
    let job = Arc::new(Job {
        // SAFETY: only the lifetime changes; `Job::work` says why it is not used after this returns.
        body: unsafe { std::mem::transmute::<*const Body<'_>, *const Body<'static>>(body) },
        next: AtomicU64::new(done),
        end: total,
        chunk,
        helpers: (threads - 1).min(rest.div_ceil(chunk) as usize - 1),
        active: AtomicUsize::new(0),
        caller: std::thread::current(),
    });
    job.recruit(0);
    job.work();
    while job.active.load(Ordering::Acquire) != 0 {
        std::thread::park();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn covered(total: u64, unit: Duration) -> Vec<(u64, u64)> {
        let ranges = Mutex::new(Vec::new());
        run(total, 1, &|begin, end| {
            let start = Instant::now();
            while start.elapsed() < unit * (end - begin) as u32 {}
            ranges.lock().unwrap().push((begin, end));
        });
        let mut ranges = ranges.into_inner().unwrap();
        ranges.sort_unstable();
        ranges
    }

    #[test]
    fn ranges_cover_everything_once() {
        for (total, unit) in [(1, 0), (7, 0), (100_000, 0), (300, 2_000), (40, 50_000)] {
            let ranges = covered(total, Duration::from_nanos(unit));
            assert_eq!(ranges.first().unwrap().0, 0);
            assert_eq!(ranges.last().unwrap().1, total);
            assert!(ranges.windows(2).all(|w| w[0].1 == w[1].0), "{ranges:?}");
        }
    }

    #[test]
    fn many_callers_at_once() {
        rayon::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|_| {
                    for _ in 0..20 {
                        covered(50, Duration::from_micros(3));
                    }
                });
            }
        });
    }
}
