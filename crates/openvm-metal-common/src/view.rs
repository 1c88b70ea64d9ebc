//! Memory that the host looks at in place, which no kernel may write meanwhile.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;

use crate::context::{Inner, MetalContext};
use crate::driver::Span;
use crate::error::{MetalError, Result};
use crate::lock;

/// The ranges of a context that host views show now.
#[derive(Default)]
pub(crate) struct Views {
    count: AtomicUsize,
    ranges: Mutex<Vec<Span>>,
}

/// Enters a range as seen until it is dropped.
pub(crate) struct Seen {
    context: MetalContext,
    range: Span,
}

impl Seen {
    pub fn new(context: &MetalContext, range: Span) -> Self {
        let views = &context.inner.views;
        lock(&views.ranges).push(range);
        views.count.fetch_add(1, Ordering::AcqRel);
        let context = context.clone();
        Self { context, range }
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        let views = &self.context.inner.views;
        let mut ranges = lock(&views.ranges);
        if let Some(at) = ranges.iter().position(|range| *range == self.range) {
            ranges.swap_remove(at);
            views.count.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

impl Inner {
    /// No host view shows any of the range, which `kernel` may write.
    pub fn unseen(&self, range: Span, kernel: &'static str) -> Result<()> {
        if self.views.count.load(Ordering::Acquire) == 0 {
            return Ok(());
        }
        let ranges = lock(&self.views.ranges);
        let shared = ranges.iter().map(|seen| seen.overlap(&range)).max();
        match shared {
            None | Some(0) => Ok(()),
            Some(bytes) => Err(MetalError::HostView { kernel, bytes }),
        }
    }
}
