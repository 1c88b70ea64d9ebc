//! `ProveOptions`: how a program is executed and proved, never what is proved.

use std::fmt;

use crate::progress::Progress;

/// Bound on instructions unless another is given: about 20 minutes of execution.
pub const DEFAULT_MAX_INSTRUCTIONS: u64 = 1 << 36;

/// How a program is executed and proved.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct ProveOptions<'a> {
    /// A program that executes more instructions is stopped with an error. The bound is checked at the end of
    /// each segment.
    pub max_instructions: u64,
    /// Is told what happens.
    pub progress: &'a dyn Progress,
}

impl Default for ProveOptions<'_> {
    fn default() -> Self {
        Self {
            max_instructions: DEFAULT_MAX_INSTRUCTIONS,
            progress: &(),
        }
    }
}

impl fmt::Debug for ProveOptions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProveOptions")
            .field("max_instructions", &self.max_instructions)
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
}
