//! Device memory by address.

use std::ops::Range;

/// A segment: memory obtained from a driver, later cut into allocations by the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Host address (CPU, Metal) or device address (CUDA) of the first byte.
    pub address: u64,
    /// Address of the first byte as kernels reach it, where they do ([`DeviceProfile::addresses`](crate::DeviceProfile::addresses)).
    pub reached: u64,
    /// Driver object behind it (Metal: the retained `MTLBuffer`), or 0.
    pub object: usize,
    pub bytes: u64,
}

/// A range of bytes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub segment: Segment,
    pub offset: u64,
    pub bytes: u64,
}

impl Span {
    /// Address of the first byte, see [`Segment::address`].
    pub fn address(&self) -> u64 {
        self.segment.address + self.offset
    }

    /// Address of the first byte, see [`Segment::reached`].
    pub fn reached(&self) -> u64 {
        self.segment.reached + self.offset
    }

    /// A range of its bytes.
    pub fn part(&self, bytes: Range<u64>) -> Self {
        debug_assert!(bytes.start <= bytes.end && bytes.end <= self.bytes);
        Self {
            segment: self.segment,
            offset: self.offset + bytes.start,
            bytes: bytes.end - bytes.start,
        }
    }

    /// Bytes that both ranges have.
    pub fn overlap(&self, other: &Self) -> u64 {
        if self.segment != other.segment {
            return 0;
        }
        let end = (self.offset + self.bytes).min(other.offset + other.bytes);
        end.saturating_sub(self.offset.max(other.offset))
    }
}
