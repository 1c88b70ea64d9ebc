//! Ranges of work on several threads, for work that takes from a microsecond to minutes.
//!
//! The caller starts alone and wakes help only when the first microseconds show that it pays, so a tiny dispatch costs little more than a function call.
//! Helpers are jobs on the current rayon pool, and stay awake for the caller's next dispatch, which one of them joins by itself
//! after these microseconds. Unlike in `rayon::join` the caller never runs somebody else's job while it waits: such a job might encode
//! work of its own in the middle of this dispatch.

mod crew;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread::Thread;
use std::time::{Duration, Instant};

use crew::{wait_awake, Crew, LONGEST_PIECE};

/// Time for which helpers stay awake between the dispatches of a program: the caller may be busy with its own last piece.
pub const BETWEEN_DISPATCHES: Duration = LONGEST_PIECE.saturating_mul(2);

/// The caller works alone for this long before it decides.
const PROBE: Duration = Duration::from_micros(5);
/// Work that would take the caller less than this is finished alone.
const WORTH_HELP_NS: f64 = 20_000.0;
/// Shortest piece of work that is handed out.
const MIN_CHUNK_NS: f64 = 10_000.0;
/// A piece is at most such a share of what would be left for each thread, so that threads that start late or run slowly do not hold up the
/// rest.
const SHARE: u64 = 3;
/// Pieces of a thread at most, however long the first units took: a page may have been new, or the thread stopped.
const PIECES: u64 = 256;
/// The caller has decided by then, unless its first units take longer: a helper may wake others.
const LATE: Duration = Duration::from_micros(20);
/// Time for which a helper goes from one dispatch of its caller to the next before other work of the pool has its turn: another task may wait below
/// it on its stack.
const STAY: Duration = Duration::from_millis(10);

type Body<'a> = dyn Fn(u64, u64) + Sync + 'a;

thread_local! {
    /// The helpers of this thread that are awake.
    static CREW: Arc<Crew<Help>> = Arc::default();
}

/// A job, and which of its helpers is wanted.
type Help = (Arc<Job>, usize);

struct Job {
    /// Borrowed from the caller of [`run`], with its lifetime erased.
    body: *const Body<'static>,
    start: Instant,
    next: AtomicU64,
    end: u64,
    /// Units of a piece, at least and at most; what is begun with, until the caller knows better.
    least: AtomicU64,
    most: AtomicU64,
    helpers: AtomicUsize,
    /// The caller knows what a unit takes.
    decided: AtomicBool,
    crew: Arc<Crew<Help>>,
    /// Helpers that may be inside `body`.
    active: AtomicUsize,
    caller: Thread,
    /// Time for which a helper stays awake for the caller's next work.
    awake: Duration,
}

// SAFETY: `body` is `Sync` and used only while its owner waits in `run`, see `Job::piece`.
unsafe impl Send for Job {}
// SAFETY: as above; everything else is atomic or constant.
unsafe impl Sync for Job {}

/// Ends the process if its thread unwinds: others may be using what would go with the stack, or wait for this thread for ever.
struct AbortOnUnwind;

impl Drop for AbortOnUnwind {
    fn drop(&mut self) {
        eprintln!("work panicked while other threads took part in it: the process ends");
        std::process::abort();
    }
}

impl Job {
    /// Takes pieces until none are left.
    fn work(&self) {
        while self.piece(|left| {
            let threads = self.helpers.load(Ordering::Relaxed) as u64 + 1;
            let (least, most) = (&self.least, &self.most);
            let most = most.load(Ordering::Relaxed);
            (left / (SHARE * threads)).clamp(least.load(Ordering::Relaxed).min(most), most)
        }) {}
    }

    /// Does the next piece, of as many units as are said for those that are left; false if none is left.
    fn piece(&self, units: impl Fn(u64) -> u64) -> bool {
        // AcqRel: a helper that got a piece is seen as active by a caller that finds none left.
        let mut begin = self.next.load(Ordering::Acquire);
        let end = loop {
            let left = self.end - begin;
            if left == 0 {
                return false;
            }
            let end = begin + units(left).clamp(1, left);
            let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
            match self.next.compare_exchange(begin, end, success, failure) {
                Ok(_) => break end,
                Err(actual) => begin = actual,
            }
        };
        // SAFETY: this thread got a piece, so the caller has not returned from `run`: it does so
        // only after it found no piece left and, after that, no helper active; a helper counts
        // itself as active before it asks for a piece.
        unsafe { (*self.body)(begin, end) };
        true
    }

    /// Loop of helper `index`.
    fn help(self: &Arc<Self>, index: usize) {
        // Tiny dispatches are over by then.
        while self.start.elapsed() < PROBE {
            std::hint::spin_loop();
        }
        self.active.fetch_add(1, Ordering::AcqRel);
        let guard = AbortOnUnwind;
        let may_recruit = || self.decided.load(Ordering::Acquire) || self.start.elapsed() >= LATE;
        let most = |_| self.most.load(Ordering::Relaxed);
        while !may_recruit() && self.piece(most) {}
        if self.next.load(Ordering::Acquire) < self.end {
            self.recruit(2 * index + 1);
            self.recruit(2 * index + 2);
            self.work();
        }
        std::mem::forget(guard);
        if self.active.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.caller.unpark();
        }
    }

    /// Starts helper `index`; each starts two more, so that waking many takes few steps.
    fn recruit(self: &Arc<Self>, index: usize) {
        if index < self.helpers.load(Ordering::Relaxed) {
            if let Some((job, index)) = self.crew.offer((self.clone(), index)) {
                rayon::spawn(move || attend((job, index)));
            }
        }
    }
}

/// Helps, and then with the caller's next dispatches.
fn attend(help: Help) {
    let (crew, began) = (help.0.crew.clone(), Instant::now());
    let mut next = Some(help);
    while let Some((job, index)) = next {
        job.help(index);
        let awake = job.awake;
        drop(job);
        // The caller itself, if nobody else took what it spawned: there is nobody to wait for.
        if CREW.with(|own| Arc::ptr_eq(own, &crew)) {
            return;
        }
        if began.elapsed() >= STAY {
            rayon::spawn(move || {
                rayon::yield_now();
                crew.look(awake).into_iter().for_each(attend);
            });
            return;
        }
        next = crew.look(awake);
    }
}

/// Calls `body(begin, end)` for ranges that cover `0..total` once, and returns when all are done.
/// `first`: size of the first range, something that takes well under 5 microseconds. Helpers stay awake for the time `awake` for
/// the caller's next call, which costs their processors' time. A body that panics on
/// one of several threads ends the process.
pub fn run(total: u64, first: u64, awake: Duration, body: &Body) {
    if total <= first {
        return body(0, total);
    }
    let threads = rayon::current_num_threads();
    if threads == 1 {
        return body(0, total);
    }
    let first = first.max(1);
    let body: *const Body<'_> = body;
    let job = Arc::new(Job {
        // SAFETY: only the lifetime changes; `Job::piece` says why it is not used after this returns, and the guard below
        // keeps this from unwinding.
        body: unsafe { std::mem::transmute::<*const Body<'_>, *const Body<'static>>(body) },
        start: Instant::now(),
        next: AtomicU64::new(0),
        end: total,
        least: AtomicU64::new(1),
        most: AtomicU64::new(first),
        helpers: AtomicUsize::new((threads - 1).min((total - 1) as usize)),
        decided: AtomicBool::new(false),
        crew: CREW.with(Arc::clone),
        active: AtomicUsize::new(0),
        caller: std::thread::current(),
        awake,
    });
    let guard = AbortOnUnwind;
    let joined = job.crew.offer((job.clone(), 0)).is_none();
    let (mut done, mut batch) = (0, first);
    while job.start.elapsed() < PROBE && job.piece(|_| batch) {
        done += batch;
        batch *= 2;
    }
    let rest = total - job.next.load(Ordering::Acquire);
    if rest > 0 {
        let unit_ns = job.start.elapsed().as_nanos() as f64 / done.max(1) as f64;
        let least = ((MIN_CHUNK_NS / unit_ns) as u64).max(rest / (threads as u64 * PIECES));
        let least = least.max(1);
        let most = ((LONGEST_PIECE.as_nanos() as f64 / unit_ns) as u64).max(least);
        let worth = unit_ns * rest as f64 >= WORTH_HELP_NS;
        let helpers = (threads - 1).min(rest.div_ceil(least) as usize - 1);
        job.most.store(most, Ordering::Relaxed);
        job.least.store(least, Ordering::Relaxed);
        let helpers = if worth { helpers } else { 0 };
        job.helpers.store(helpers, Ordering::Relaxed);
        job.decided.store(true, Ordering::Release);
        if !joined {
            job.recruit(0);
        }
        job.work();
    }
    wait_awake(|| job.active.load(Ordering::Acquire) == 0);
    while job.active.load(Ordering::Acquire) != 0 {
        std::thread::park();
    }
    std::mem::forget(guard);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn covered(total: u64, unit: Duration) -> Vec<(u64, u64)> {
        let ranges = Mutex::new(Vec::new());
        run(total, 1, BETWEEN_DISPATCHES, &|begin, end| {
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

    /// Pieces are long at first and short at the end, and no shorter than the least.
    #[test]
    fn pieces_get_shorter() {
        let pieces = Mutex::new(Vec::new());
        let body = |begin, end| pieces.lock().unwrap().push(end - begin);
        let body: *const Body<'_> = &body;
        let job = Job {
            // SAFETY: only the lifetime changes, and `body` outlives the job.
            body: unsafe { std::mem::transmute::<*const Body<'_>, *const Body<'static>>(body) },
            start: Instant::now(),
            next: AtomicU64::new(0),
            end: 500,
            least: AtomicU64::new(30),
            most: AtomicU64::new(60),
            helpers: AtomicUsize::new(1),
            decided: AtomicBool::new(true),
            crew: Arc::default(),
            active: AtomicUsize::new(0),
            caller: std::thread::current(),
            awake: BETWEEN_DISPATCHES,
        };
        job.work();
        let mut expected = vec![60, 60, 60, 53, 44, 37];
        expected.extend([31, 30, 30, 30, 30, 30, 5]);
        assert_eq!(*pieces.lock().unwrap(), expected);
    }

    /// A body that panics, on the caller's thread and on a helper's, ends the process, which is this test again.
    #[cfg(unix)]
    #[test]
    fn a_panic_ends_the_process() {
        use std::os::unix::process::ExitStatusExt;
        const WHERE: &str = "OPENVM_METAL_TEST_PANIC";
        const TEST: &str = "parallel::tests::a_panic_ends_the_process";
        let threads = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        let threads = threads.expect("two threads");
        if let Some(place) = std::env::var_os(WHERE) {
            threads.install(|| {
                let caller = std::thread::current().id();
                run(1_000_000, 1, BETWEEN_DISPATCHES, &|begin, _| {
                    let is_caller = std::thread::current().id() == caller;
                    // The first piece is the caller's.
                    if begin > 0 && (place == "caller") == is_caller {
                        panic!("in the body");
                    }
                    std::thread::sleep(Duration::from_micros(10));
                });
            });
            return;
        }
        for place in ["caller", "helper"] {
            let child = std::process::Command::new(std::env::current_exe().expect("this program"))
                .args(["--exact", TEST, "--nocapture"])
                .env(WHERE, place)
                .output()
                .expect("a process");
            const SIGABRT: i32 = 6;
            assert_eq!(child.status.signal(), Some(SIGABRT), "{place}: {child:?}");
            let told = String::from_utf8_lossy(&child.stderr);
            assert!(told.contains("the process ends"), "{place}: {told}");
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
