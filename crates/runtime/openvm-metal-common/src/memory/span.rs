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

#[cfg(test)]
mod tests {
    use super::*;

    fn span(address: u64, bytes: Range<u64>) -> Span {
        let segment = Segment {
            address,
            reached: address,
            object: 0,
            bytes: 100,
        };
        Span {
            segment,
            offset: bytes.start,
            bytes: bytes.end - bytes.start,
        }
    }

    /// Ranges of different segments share nothing, wherever they lie in them.
    #[test]
    fn only_ranges_of_one_segment_overlap() {
        let of = |bytes| span(1 << 20, bytes);
        for (a, b, shared) in [
            (0..10, 0..10, 10),
            (0..10, 9..20, 1),
            (0..10, 10..20, 0),
            (0..10, 20..30, 0),
            (0..30, 10..20, 10),
            (5..5, 0..10, 0),
        ] {
            let (a, b) = (of(a), of(b));
            assert_eq!((a.overlap(&b), b.overlap(&a)), (shared, shared));
            let other = Span {
                segment: span(1 << 21, 0..1).segment,
                ..b
            };
            assert_eq!((a.overlap(&other), other.overlap(&a)), (0, 0));
        }
    }

    #[test]
    fn a_part_lies_inside() {
        let whole = span(1 << 20, 16..48);
        let part = whole.part(8..12);
        assert_eq!((part.address(), part.bytes), ((1 << 20) + 24, 4));
        assert_eq!(part.reached(), part.address());
    }
}
