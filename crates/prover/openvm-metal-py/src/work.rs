//! Work without the interpreter's lock, which Ctrl-C ends, and never in a forked process.

use std::{
    io::{self, Write as _},
    mem::ManuallyDrop,
    ops::Deref,
    sync::{
        atomic::{AtomicBool, AtomicU32, Ordering},
        mpsc::{sync_channel, RecvTimeoutError},
        Arc,
    },
    thread,
    time::Duration,
};

use openvm_metal_sdk::SdkError;
use pyo3::prelude::*;

use crate::errors::{exception, raise};

/// Time between two checks for signals.
const TICK: Duration = Duration::from_millis(50);

/// Keys of circuits are made by deep recursion.
const STACK: usize = 64 << 20;

/// The process that worked first; 0 before that.
static FIRST: AtomicU32 = AtomicU32::new(0);

/// An error if this process was forked from one that had worked: its threads do not run here.
fn check_process() -> PyResult<()> {
    let own = std::process::id();
    match FIRST.compare_exchange(0, own, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Ok(()),
        Err(first) if first == own => Ok(()),
        Err(_) => Err(exception(
            "ForkError",
            "this process was forked from one that had proved or opened a device, whose threads do not run here. Start it with \
             multiprocessing's method \"spawn\" (or \"forkserver\")"
                .into(),
        )),
    }
}

/// Runs `work` on a thread of its own with the interpreter's lock let go. A signal's exception, such as `KeyboardInterrupt`,
/// sets the flag that `work` is given, and is raised as soon as it returns. An exception that `work` left in
/// [`Stop::failed`] comes before its own error.
pub fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> Result<T, SdkError> + Send,
) -> PyResult<T> {
    check_process()?;
    let stop = Stop::default();
    let (result, signal) = py.detach(|| {
        thread::scope(|scope| {
            let (done, ended) = sync_channel::<()>(1);
            let stop = &stop;
            let thread = thread::Builder::new()
                .name("openvm-metal".into())
                .stack_size(STACK)
                .spawn_scoped(scope, move || {
                    let result = work(stop);
                    // The rest of a line that a guest printed: nobody else ends this buffer of the process. Standard output may be closed.
                    let _ = io::stdout().flush();
                    // The receiver lives on the thread that joins this one.
                    let _ = done.send(());
                    result
                });
            let thread = match thread {
                Ok(thread) => thread,
                Err(error) => {
                    let message = format!(
                        "no thread could be started ({error}): allow the process more memory or threads"
                    );
                    return (Err(exception("OutOfMemoryError", message)), None);
                }
            };
            let mut signal = None;
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(TICK) {
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    signal.get_or_insert(error);
                    stop.flag.store(true, Ordering::Relaxed);
                }
            }
            let result = match thread.join() {
                Ok(result) => result.map_err(|error| raise(&error)),
                Err(_) => Err(exception("ProveError", "a thread panicked".into())),
            };
            (result, signal)
        })
    });
    let failed = stop.failed.into_inner().unwrap_or_else(|e| e.into_inner());
    match signal.or(failed) {
        Some(error) => Err(error),
        None => result,
    }
}

/// Signal that stops work.
#[derive(Default)]
pub struct Stop {
    /// Set when the work is to end.
    pub flag: Arc<AtomicBool>,
    /// The exception that a function of the user raised.
    pub failed: std::sync::Mutex<Option<PyErr>>,
}

/// An object with threads. Dropping it waits for them, with the interpreter's lock let go. A forked process does not have the threads: there
/// the object is leaked, not dropped.
pub struct Own<T: Send>(ManuallyDrop<T>);

impl<T: Send> Own<T> {
    /// Takes it over.
    pub fn new(part: T) -> Self {
        Self(ManuallyDrop::new(part))
    }
}

impl<T: Send> Deref for Own<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send> Drop for Own<T> {
    fn drop(&mut self) {
        if FIRST.load(Ordering::Acquire) == std::process::id() {
            // SAFETY: taken here alone, once, and not used behind this.
            let object = unsafe { ManuallyDrop::take(&mut self.0) };
            Python::attach(|py| py.detach(|| drop(object)));
        }
    }
}
