//! Memory accesses of an operation.

use std::ops::Range;

use crate::memory::Span;

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

    /// The access to a range of memory.
    pub fn of(span: &Span, writes: bool) -> Self {
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
