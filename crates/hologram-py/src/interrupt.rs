//! Ctrl-C while a program runs.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use hologram_backends::{ExecutionParams, Program, Stop};
use pyo3::prelude::*;

use crate::errors::exception;

/// Between two questions whether there was a signal.
const PAUSE: Duration = Duration::from_millis(50);
/// Instructions times lanes of a program that ends before anybody could press a key.
const SHORT: u64 = 1 << 24;

/// Whether a program certainly ends soon, so that nothing has to be able to end it.
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

/// Does some work that ends when `stop` is asked for, which a signal with a handler that raises does: Ctrl-C. The work is done by
/// another thread, because Python's handlers run in this one, if it is the main thread.
///
/// # Errors
/// What the handler raises, when the work has ended.
pub fn interruptible<T: Send>(
    py: Python<'_>,
    stop: &Stop,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
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
