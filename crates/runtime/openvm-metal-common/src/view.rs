//! Memory that the host looks at in place, which no kernel may write meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use crate::error::{MetalError, Result};
use crate::lock;
use crate::memory::Span;

/// The ranges of a context that host views show now.
#[derive(Default)]
pub(crate) struct Views {
    count: AtomicUsize,
    ranges: Mutex<Vec<Span>>,
}

impl Views {
    /// Enters a range as seen.
    pub fn enter(&self, range: Span) {
        lock(&self.ranges).push(range);
        self.count.fetch_add(1, Ordering::AcqRel);
    }

    /// Ends one view of a range.
    pub fn leave(&self, range: Span) {
        let mut ranges = lock(&self.ranges);
        if let Some(at) = ranges.iter().position(|seen| *seen == range) {
            ranges.swap_remove(at);
            self.count.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// No view shows any of the range, which `kernel` may write.
    pub fn check(&self, range: Span, kernel: &'static str) -> Result<()> {
        if self.count.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        let ranges = lock(&self.ranges);
        let shared = ranges.iter().map(|seen| seen.overlap(&range)).max();
        match shared {
            None | Some(0) => Ok(()),
            Some(bytes) => Err(MetalError::HostView { kernel, bytes }),
        }
    }
}
