//! What an operation does with memory.

use std::ops::Range;

use crate::driver::{Dispatch, Span};
use crate::kernel::ArgKind;

/// Use of a range of addresses. Those of live segments never overlap, so an address says which memory it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Access {
    pub range: Range<u64>,
    pub writes: bool,
}

impl Access {
    pub fn read(span: &Span) -> Self {
        Self::of(span, false)
    }

    pub fn write(span: &Span) -> Self {
        Self::of(span, true)
    }

    fn of(span: &Span, writes: bool) -> Self {
        let start = span.address();
        Self {
            range: start..start + span.bytes,
            writes,
        }
    }

    /// The two may not overlap in time.
    pub fn conflicts(&self, other: &Self) -> bool {
        (self.writes || other.writes)
            && self.range.start < other.range.end
            && other.range.start < self.range.end
    }

    /// Every byte of the other is one of its own.
    pub fn covers(&self, other: &Self) -> bool {
        self.range.start <= other.range.start && other.range.end <= self.range.end
    }
}

impl Dispatch<'_> {
    /// The memory that the kernel is given.
    pub fn accesses(&self) -> impl Iterator<Item = Access> + Clone + '_ {
        self.kernel.args.iter().filter_map(|arg| {
            let writes = match arg.kind {
                ArgKind::BufferRead { .. } => false,
                ArgKind::BufferWrite { .. } => true,
                ArgKind::Value { .. } | ArgKind::Threadgroup { .. } => return None,
            };
            let span = self.buffers.get(arg.index as usize)?.as_ref()?;
            (span.bytes > 0).then(|| Access::of(span, writes))
        })
    }
}
