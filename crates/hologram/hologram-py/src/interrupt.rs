//! Ctrl-C while a program runs.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use hologram_backends::{ExecutionParams, Program, Stop};
use pyo3::prelude::*;

use crate::errors::exception;

/// Between two questions whether there was a signal: what Ctrl-C takes before the program is asked to end. A question costs
/// about a microsecond, when no other thread of Python runs.
const PAUSE: Duration = Duration::from_millis(10);
/// Instructions times lanes of a program that ends before anybody could press a key.
const SHORT: u64 = 1 << 24;

/// True if a program certainly ends soon, so that nothing has to be able to end it.
pub fn is_short(program: &Program, params: &ExecutionParams) -> bool {
    let lanes = |dim: hologram_backends::Dim3| dim.count().unwrap_or(u64::MAX);
    let launch = &params.launch;
    let work = lanes(launch.grid)
        .checked_mul(lanes(launch.block))
        .and_then(|lanes| lanes.checked_mul(program.len() as u64));
    work.is_some_and(|work| work <= SHORT)
        && program.runs_forward()
        && !program.instructions().iter().any(|i| i.is_intrinsic())
}

/// True if this thread is the one that Python's handlers of signals run in.
fn is_main(py: Python<'_>) -> PyResult<bool> {
    let threading = py.import("threading")?;
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    main.eq(threading.call_method0("get_ident")?)
}

/// Does some work that ends when `stop` is asked for, which a signal with a handler that raises does: Ctrl-C. In the main thread
/// the work is done by another one, because Python's handlers run in this; in others there are no handlers, and it is done as it is.
///
/// A handler that raises is what counts, also if the work ends by itself meanwhile. A signal that comes behind the last question
/// is Python's own matter, as between any two calls.
///
/// # Errors
/// What the handler raises, when the work has ended.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    stop: &Stop,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    if !is_main(py)? {
        return Ok(py.detach(work));
    }
    py.detach(|| {
        thread::scope(|scope| {
            // Ends with the work, because the thread drops it then.
            let (running, ended) = mpsc::channel::<()>();
            let worker = thread::Builder::new().name("hologram program".into());
            let worker = worker.spawn_scoped(scope, move || {
                let _running = running;
                work()
            });
            let worker = worker.map_err(|error| {
                exception("DeviceError", format!("no thread for a program: {error}"))
            })?;
            let mut interrupted = Ok(());
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(PAUSE) {
                if interrupted.is_ok() {
                    interrupted = Python::attach(|py| py.check_signals());
                    if interrupted.is_err() {
                        stop.request();
                    }
                }
            }
            let done = worker.join();
            let done = done.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            interrupted.map(|()| done)
        })
    })
}
