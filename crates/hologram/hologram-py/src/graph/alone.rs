//! One thread at a time computes graphs and writes memory that they read.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::lock;
use crate::process;

/// Between two questions of a thread that waits whether there was a signal.
const PAUSE: Duration = Duration::from_millis(10);

/// The lock of this process, with the number of forks behind which it was made: a forked process has no thread that would let go
/// a lock that another one held.
static CURRENT: Mutex<Option<(u32, Arc<Lock>)>> = Mutex::new(None);

/// A lock that its thread may take again.
#[derive(Default)]
struct Lock {
    holder: Mutex<Holder>,
    free: Condvar,
}

#[derive(Default)]
struct Holder {
    thread: Option<ThreadId>,
    depth: usize,
    /// Threads that wait: only they are worth a call of the system.
    waiting: usize,
}

impl Holder {
    fn take(&mut self, thread: ThreadId) -> bool {
        let free = self.thread.is_none_or(|holder| holder == thread);
        if free {
            self.thread = Some(thread);
            self.depth += 1;
        }
        free
    }
}

/// The lock, until it is dropped by the thread that took it.
pub struct Alone(Arc<Lock>);

impl Drop for Alone {
    fn drop(&mut self) {
        let mut holder = lock(&self.0.holder);
        holder.depth -= 1;
        if holder.depth == 0 {
            holder.thread = None;
            let waited_for = holder.waiting > 0;
            drop(holder);
            if waited_for {
                self.0.free.notify_one();
            }
        }
    }
}

/// Waits until no other thread has the lock; Python's other threads run meanwhile.
///
/// # Errors
/// What a handler of signals raises: Ctrl-C.
pub fn alone(py: Python<'_>) -> PyResult<Alone> {
    let here = current();
    let thread = thread::current().id();
    if lock(&here.holder).take(thread) {
        return Ok(Alone(here));
    }
    loop {
        let taken = py.detach(|| {
            let mut holder = lock(&here.holder);
            if holder.take(thread) {
                return true;
            }
            holder.waiting += 1;
            let waited = here.free.wait_timeout(holder, PAUSE);
            holder = waited.unwrap_or_else(PoisonError::into_inner).0;
            holder.waiting -= 1;
            holder.take(thread)
        });
        if taken {
            return Ok(Alone(here));
        }
        py.check_signals()?;
    }
}

fn current() -> Arc<Lock> {
    let forks = process::forks();
    let mut current = lock(&CURRENT);
    match &*current {
        Some((made, found)) if *made == forks => found.clone(),
        _ => current.insert((forks, Arc::default())).1.clone(),
    }
}

/// The lock of all arrays as a context manager, which keeps them as they are.
#[pyclass(name = "Alone", module = "hologram", frozen)]
#[derive(Default)]
pub struct PyAlone(Mutex<Vec<Alone>>);

#[pymethods]
impl PyAlone {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        let taken = alone(py)?;
        lock(&self.0).push(taken);
        Ok(())
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyTuple>) {
        let taken = lock(&self.0).pop();
        drop(taken);
    }
}
