//! Process that opened devices: the threads that run their work do not live on in a child of `fork`.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::prelude::*;

use crate::errors::exception;

/// Forks between the process that loaded the module and this one.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// One more than `FORKS` of the process that opened a device first; 0 before that.
static OPENED: AtomicU32 = AtomicU32::new(0);

/// Counts forks from now on. Asking the system for the process's number instead costs a call of it for every buffer.
///
/// # Errors
/// The system has no memory for it.
#[cfg(unix)]
pub fn count_forks() -> PyResult<()> {
    extern "C" fn forked() {
        FORKS.fetch_add(1, Ordering::AcqRel);
    }
    // SAFETY: the handler only adds to an atomic number, which a child may do at any time; the system forgets it with the module.
    match unsafe { libc::pthread_atfork(None, None, Some(forked)) } {
        0 => Ok(()),
        code => Err(std::io::Error::from_raw_os_error(code).into()),
    }
}

/// There are no forks.
#[cfg(not(unix))]
pub fn count_forks() -> PyResult<()> {
    Ok(())
}

/// Number of forks between the process that loaded the module and this one.
pub fn forks() -> u32 {
    FORKS.load(Ordering::Acquire)
}

/// True if this process was forked from one that had opened a device.
fn forked() -> bool {
    let opened = OPENED.load(Ordering::Acquire);
    opened != 0 && opened != forks() + 1
}

/// An error if this process was forked from one that had opened a device.
pub fn check() -> PyResult<()> {
    if !forked() {
        return Ok(());
    }
    let message = "this process was forked from one that had opened a device, whose threads do not run here. Start it with \
                   multiprocessing's method \"spawn\" (or \"forkserver\"), or open the first Executor behind the fork";
    Err(exception("ForkError", message.into()))
}

/// Says that this process is about to open a device.
///
/// # Errors
/// Those of [`check`].
pub fn opens() -> PyResult<()> {
    check()?;
    OPENED.store(forks() + 1, Ordering::Release);
    Ok(())
}

/// A part of a device. In a forked process it is left as it is instead of dropped: that could wait for a lock or a thread
/// which only the other process has.
pub struct Own<T>(ManuallyDrop<T>);

impl<T> Own<T> {
    /// Takes it over.
    pub fn new(part: T) -> Self {
        Self(ManuallyDrop::new(part))
    }
}

impl<T> Deref for Own<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for Own<T> {
    fn drop(&mut self) {
        if !forked() {
            // SAFETY: dropped here alone, once, and not used behind this.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        }
    }
}
