//! Cases for each kind, on all cores: time, memory, panics.

use std::{
    cell::Cell,
    env, fs,
    panic::{self, AssertUnwindSafe},
    path::PathBuf,
    process,
    sync::{
        atomic::{AtomicUsize, Ordering},
        Mutex, PoisonError,
    },
    thread,
    time::{Duration, Instant},
};

use openvm_metal_sdk::SdkError;
use rand::{rngs::StdRng, seq::IndexedRandom as _, SeedableRng as _};

use crate::{
    kinds::{Kind, KINDS},
    memory,
    mutate::damage,
};

/// Most processor time of a case.
const LIMIT: Duration = Duration::from_secs(5);

/// Most time of a case. Other programs may have the processor meanwhile.
const HANG: Duration = Duration::from_secs(60);

/// Most failures of a kind that are written.
const MAX_FAILURES: usize = 5;

/// Words of panics, which no error may show.
const PANIC_TEXTS: [&str; 6] = [
    "panicked at",
    "index out of bounds",
    "called `Option::unwrap()`",
    "called `Result::unwrap()`",
    "assertion `",
    "attempt to ",
];

/// The case that a thread tries, for who ends the process.
struct Running {
    kind: &'static str,
    bytes: Vec<u8>,
    since: Instant,
}

static RUNNING: Mutex<Vec<Option<Running>>> = Mutex::new(Vec::new());

thread_local! {
    /// This thread's place in [`RUNNING`].
    static PLACE: Cell<Option<usize>> = const { Cell::new(None) };
}

fn running() -> std::sync::MutexGuard<'static, Vec<Option<Running>>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the process and leaves the case of this thread in a file.
pub fn abort(reason: &str) -> ! {
    if let Some(place) = PLACE.get() {
        if let Some(Some(case)) = running().get(place) {
            let path = keep(case.kind, "abort", &case.bytes);
            eprintln!("{}: {reason}: {}", case.kind, path.display());
        }
    }
    process::abort()
}

/// Writes a case that failed, and gives its file.
fn keep(kind: &str, name: &str, bytes: &[u8]) -> PathBuf {
    let name = format!("openvm-metal-damaged-{kind}-{}-{name}", process::id());
    let path = env::temp_dir().join(name);
    fs::write(&path, bytes).expect("a temporary file");
    path
}

/// Outcome of a case.
pub struct Outcome {
    pub is_accepted: bool,
    pub memory: isize,
    pub time: Duration,
    /// The forbidden behaviour, if there was one.
    pub failure: Option<String>,
}

/// Tries one case.
pub fn attempt(kind: &Kind, bytes: &[u8]) -> Outcome {
    if let Some(place) = PLACE.get() {
        running()[place] = Some(Running {
            kind: kind.name,
            bytes: bytes.to_vec(),
            since: Instant::now(),
        });
    }
    let (clock, processor) = (Instant::now(), processor_time());
    let (result, memory) =
        memory::peak(|| panic::catch_unwind(AssertUnwindSafe(|| (kind.load)(bytes))));
    let (time, processor) = (clock.elapsed(), processor_time() - processor);
    if let Some(place) = PLACE.get() {
        running()[place] = None;
    }
    let mut failure = match &result {
        Err(_) => Some("panics".to_owned()),
        Ok(Err(error)) => {
            let text = error.to_string();
            let shows = PANIC_TEXTS.iter().any(|panic| text.contains(panic));
            shows.then(|| format!("shows a panic: {text}"))
        }
        Ok(Ok(())) => None,
    };
    if processor > LIMIT {
        failure = Some(format!("takes {processor:?}"));
    }
    Outcome {
        is_accepted: matches!(result, Ok(Ok(()))),
        memory,
        time,
        failure,
    }
}

/// The processor's time of this thread.
fn processor_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock is this thread's, and `time` is one structure to write to.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(status, 0, "the system has a clock for each thread");
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Findings of one kind.
#[derive(Default)]
struct Found {
    cases: usize,
    accepted: usize,
    memory: isize,
    slowest: Duration,
    time: Duration,
    failures: Vec<String>,
}

/// Bound of a kind: time or cases.
#[derive(Clone, Copy)]
enum Effort {
    Time(Duration),
    Cases(usize),
}

impl Effort {
    fn is_spent(self, found: &Found, start: Instant) -> bool {
        match self {
            Self::Time(time) => start.elapsed() >= time,
            Self::Cases(cases) => found.cases >= cases,
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is a number, not {text:?}")),
    )
}

/// Tries damaged files of one kind.
fn try_kind(kind: &Kind, effort: Effort, seed: u64) -> Found {
    let whole = (kind.whole)();
    let mut found = Found::default();
    for bytes in &whole {
        let outcome = attempt(kind, bytes);
        assert!(
            outcome.is_accepted,
            "{}: a whole file is refused",
            kind.name
        );
    }
    let mut rng = StdRng::seed_from_u64(seed);
    let start = Instant::now();
    while !effort.is_spent(&found, start) && found.failures.len() < MAX_FAILURES {
        let good = whole.choose(&mut rng).expect("a whole file");
        let other = whole.choose(&mut rng).expect("a whole file");
        let mut bytes = good.clone();
        damage(&mut bytes, other, &mut rng);
        if bytes == *good {
            continue;
        }
        let outcome = attempt(kind, &bytes);
        found.cases += 1;
        found.accepted += usize::from(outcome.is_accepted);
        found.memory = found.memory.max(outcome.memory);
        found.slowest = found.slowest.max(outcome.time);
        if let Some(failure) = outcome.failure {
            let path = keep(kind.name, &found.failures.len().to_string(), &bytes);
            let failure = format!("{} {failure}: {}", kind.name, path.display());
            eprintln!("{failure}");
            found.failures.push(failure);
        }
    }
    found.time = start.elapsed();
    found
}

/// Says nothing of panics that become errors, and ends the process if a case hangs.
fn watch() {
    let previous = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !openvm_metal_sdk::is_guarded() {
            previous(info);
        }
    }));
    thread::spawn(|| loop {
        thread::sleep(Duration::from_secs(1));
        let running = running();
        let hangs = |case: &&Running| case.since.elapsed() > HANG;
        if let Some(case) = running.iter().flatten().find(hangs) {
            let path = keep(case.kind, "hang", &case.bytes);
            eprintln!("{}: runs for {HANG:?}: {}", case.kind, path.display());
            process::abort();
        }
    });
}

/// One thread does all work of a case, so that its memory is counted.
fn alone<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.expect("a thread").install(f)
}

#[test]
fn damaged_files_are_errors() {
    let only = env::var("OPENVM_METAL_FUZZ_ONLY").ok();
    let is_chosen = |kind: &&Kind| only.as_ref().is_none_or(|only| only == kind.name);
    let kinds: Vec<&Kind> = KINDS.iter().filter(is_chosen).collect();
    assert!(!kinds.is_empty(), "no kind has the name {only:?}");
    watch();
    if let Ok(path) = env::var("OPENVM_METAL_FUZZ_REPLAY") {
        let bytes = fs::read(path).expect("a case");
        let outcome = alone(|| attempt(kinds[0], &bytes));
        eprintln!("{} bytes of memory, {:?}", outcome.memory, outcome.time);
        assert_eq!(outcome.failure, None);
        return;
    }
    let effort = match number("OPENVM_METAL_FUZZ_CASES") {
        Some(cases) => Effort::Cases((cases as usize).div_ceil(kinds.len())),
        None => Effort::Time(Duration::from_secs(
            number("OPENVM_METAL_FUZZ_SECONDS").unwrap_or(2),
        )),
    };
    let seed = number("OPENVM_METAL_FUZZ_SEED").unwrap_or(0);

    let threads = thread::available_parallelism()
        .map_or(2, usize::from)
        .min(kinds.len());
    *running() = (0..threads).map(|_| None).collect();
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let work = |place: usize| {
        PLACE.set(Some(place));
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(kind) = kinds.get(index) else {
                return;
            };
            let mut found = try_kind(kind, effort, seed.wrapping_add(index as u64));
            eprintln!(
                "{:14} {:8} cases, {:7.0} a second, {:6} accepted, {:4} MiB, slowest {:?}",
                kind.name,
                found.cases,
                found.cases as f64 / found.time.as_secs_f64(),
                found.accepted,
                found.memory >> 20,
                found.slowest,
            );
            let mut all = failures.lock().expect("no thread panics");
            all.append(&mut found.failures);
        }
    };
    thread::scope(|scope| {
        for place in 0..threads {
            let work = &work;
            scope.spawn(move || alone(|| work(place)));
        }
    });
    let failures = failures.into_inner().expect("no thread panics");
    assert!(failures.is_empty(), "{failures:#?}");
}

/// A loader that goes wrong is seen.
#[test]
fn failures_are_seen() {
    let of = |load| Kind {
        name: "wrong",
        load,
        whole: Vec::new,
    };
    let panics = attempt(&of(|bytes| panic!("{} bytes", bytes.len())), b"four");
    assert_eq!(panics.failure.as_deref(), Some("panics"));
    let shows = attempt(
        &of(|_| Err(SdkError::Config("index out of bounds: 3".into()))),
        b"",
    );
    assert!(shows
        .failure
        .is_some_and(|text| text.contains("shows a panic")));
    let takes = attempt(
        &of(|_| {
            std::hint::black_box(vec![1u8; 64 << 20]);
            Ok(())
        }),
        b"",
    );
    assert!(takes.failure.is_none() && takes.is_accepted);
    assert!(takes.memory >= 64 << 20, "{}", takes.memory);
}
