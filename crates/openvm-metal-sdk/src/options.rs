//! `ProveOptions`: how a program is executed and proved, never what is proved.

use std::{
    fmt,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{error::SdkError, progress::Progress};

/// Bound on instructions unless another is given: about 20 minutes of execution.
pub const DEFAULT_MAX_INSTRUCTIONS: u64 = 1 << 36;

/// Segments in flight unless another number is given: one is recorded, one traced, one proved.
pub const DEFAULT_IN_FLIGHT: usize = 3;

/// How a program is executed and proved.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ProveOptions<'a> {
    /// A program that executes more instructions is stopped with an error. The bound is checked at the end of
    /// each segment.
    pub max_instructions: u64,
    /// Is told what happens.
    pub progress: &'a dyn Progress,
    /// Most segments that are recorded, traced or proved at the same time; at least 1. Host memory holds the records
    /// and traces of that many, the device the traces of at most two. With 1, everything is done on the
    /// calling thread, one after another.
    pub in_flight: usize,
    /// Proofs of segments are stored in this folder, and taken from it if it is of the same job.
    pub resume: Option<&'a Path>,
    /// Stops the proof soon after it is set.
    pub cancel: Option<&'a AtomicBool>,
}

impl Default for ProveOptions<'_> {
    fn default() -> Self {
        Self {
            max_instructions: DEFAULT_MAX_INSTRUCTIONS,
            progress: &(),
            in_flight: DEFAULT_IN_FLIGHT,
            resume: None,
            cancel: None,
        }
    }
}

impl fmt::Debug for ProveOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProveOptions")
            .field("max_instructions", &self.max_instructions)
            .field("in_flight", &self.in_flight)
            .field("resume", &self.resume)
            .finish_non_exhaustive()
    }
}

impl<'a> ProveOptions<'a> {
    /// Other observer.
    pub fn with_progress(mut self, progress: &'a dyn Progress) -> Self {
        self.progress = progress;
        self
    }

    /// Other bound on instructions.
    pub fn with_max_instructions(mut self, bound: u64) -> Self {
        self.max_instructions = bound;
        self
    }

    /// Other number of segments in flight.
    pub fn with_in_flight(mut self, segments: usize) -> Self {
        self.in_flight = segments.max(1);
        self
    }

    /// Goes on from, and adds to, the proofs in a folder.
    pub fn with_resume(mut self, folder: &'a Path) -> Self {
        self.resume = Some(folder);
        self
    }

    /// Stops soon after the flag is set.
    pub fn with_cancel(mut self, flag: &'a AtomicBool) -> Self {
        self.cancel = Some(flag);
        self
    }

    /// # Errors
    /// [`SdkError::Cancelled`] once the flag is set.
    pub(crate) fn check_cancelled(&self) -> Result<(), SdkError> {
        match self.cancel {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(SdkError::Cancelled),
            _ => Ok(()),
        }
    }
}
