//! Events: points in a stream that can be waited for and timed.

use std::sync::Mutex;
use std::time::Duration;

use cudarc::driver::sys::{self, CUresult};

use super::status::call;
use crate::driver::DriverResult;
use crate::lock;

/// A point in a stream.
#[derive(Debug)]
pub(super) struct Event(sys::CUevent);

// SAFETY: events may be used from any thread that enters the context.
unsafe impl Send for Event {}
// SAFETY: the driver API is thread safe.
unsafe impl Sync for Event {}

impl Event {
    /// True if everything before it has finished; an error if any of it failed.
    pub fn happened(&self) -> DriverResult<bool> {
        // SAFETY: a live event.
        match unsafe { sys::cuEventQuery(self.0) } {
            CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            status => call("cuEventQuery", status).map(|()| true),
        }
    }

    /// Device time from an earlier event; both have happened.
    pub fn since(&self, start: &Self) -> DriverResult<Duration> {
        let mut milliseconds = 0f32;
        // SAFETY: two live events and a pointer to a local.
        let status = unsafe { sys::cuEventElapsedTime(&mut milliseconds, start.0, self.0) };
        call("cuEventElapsedTime", status)?;
        Ok(Duration::from_secs_f64(milliseconds.max(0.0) as f64 * 1e-3))
    }

    /// Makes later work of `stream` wait for it.
    pub fn hold(&self, stream: sys::CUstream) -> DriverResult {
        // SAFETY: a live event and a live stream of the same context.
        call("cuStreamWaitEvent", unsafe {
            sys::cuStreamWaitEvent(stream, self.0, 0)
        })
    }

    pub fn into_raw(self) -> usize {
        self.0 as usize
    }

    pub fn from_raw(raw: usize) -> Self {
        Self(raw as sys::CUevent)
    }
}

/// Events to use again.
#[derive(Default)]
pub(super) struct EventPool(Mutex<Vec<Event>>);

impl EventPool {
    /// An event after everything in the stream so far. The context is current.
    pub fn record(&self, stream: sys::CUstream) -> DriverResult<Event> {
        let free = lock(&self.0).pop();
        let event = match free {
            Some(event) => event,
            None => {
                let mut event = std::ptr::null_mut();
                let flags = sys::CUevent_flags_enum::CU_EVENT_DEFAULT as u32;
                // SAFETY: the context is current and the pointer is to a local.
                call("cuEventCreate", unsafe {
                    sys::cuEventCreate(&mut event, flags)
                })?;
                Event(event)
            }
        };
        // SAFETY: a live event and a live stream of the same context.
        call("cuEventRecord", unsafe {
            sys::cuEventRecord(event.0, stream)
        })?;
        Ok(event)
    }

    /// Takes an event back that nobody waits for any more.
    pub fn recycle(&self, event: Event) {
        lock(&self.0).push(event);
    }
}

impl Drop for EventPool {
    fn drop(&mut self) {
        for event in lock(&self.0).drain(..) {
            // SAFETY: made by `record` and used by nobody.
            unsafe { sys::cuEventDestroy_v2(event.0) };
        }
    }
}
