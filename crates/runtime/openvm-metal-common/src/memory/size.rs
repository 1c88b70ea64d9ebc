//! Rounding of requests, and sizes of segments that a pool takes from the device.

/// Every allocation starts at a multiple of this.
pub(crate) const ALIGNMENT: u64 = 256;
/// Requests below this share segments of their own, so that small allocations do not fragment large segments.
const SMALL_LIMIT: u64 = 1 << 20;
const LARGE_GRANULE: u64 = 2 << 20;
const SMALL_SEGMENT: u64 = 8 << 20;
const MIN_LARGE_SEGMENT: u64 = 64 << 20;
// A segment is as large as the request that finds no room: larger ones would stay reserved beyond the peak of a proof.
const MAX_LARGE_SEGMENT: u64 = 128 << 20;

/// True if a rounded request belongs to the segments for small ones.
pub(crate) fn is_small(rounded: u64) -> bool {
    rounded < SMALL_LIMIT
}

/// The size class of a request: steps of an eighth of a power of two, at least 256 bytes and at most
/// 2 MiB. At most an eighth of a block above 2 KiB is wasted, and large blocks are exact to 2 MiB.
pub(crate) fn rounded(bytes: u64) -> u64 {
    let bytes = bytes.max(1);
    let power = 1u64 << bytes.ilog2();
    bytes.next_multiple_of((power / 8).clamp(ALIGNMENT, LARGE_GRANULE))
}

/// Bytes to take from the device for a rounded request when `reserved` bytes are already taken.
pub(crate) fn segment_bytes(rounded: u64, reserved: u64) -> u64 {
    if is_small(rounded) {
        return SMALL_SEGMENT;
    }
    let growth = (reserved / 16).clamp(MIN_LARGE_SEGMENT, MAX_LARGE_SEGMENT);
    rounded.max(growth).next_multiple_of(LARGE_GRANULE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_wastes_at_most_an_eighth() {
        for bytes in (1..5000u64).chain((1..400).map(|i| i * 123_457)) {
            let r = rounded(bytes);
            assert!(r >= bytes && r.is_multiple_of(ALIGNMENT));
            assert!(
                r - bytes < ALIGNMENT || (r - bytes) * 8 <= bytes,
                "{bytes} -> {r}"
            );
        }
        assert_eq!(rounded(0), 256);
        assert_eq!(rounded((1 << 30) + 1), (1 << 30) + (2 << 20));
    }

    #[test]
    fn classes_are_fixed_points() {
        for bytes in (1..400u64).map(|i| i * 77_777) {
            assert_eq!(rounded(rounded(bytes)), rounded(bytes));
        }
    }
}
