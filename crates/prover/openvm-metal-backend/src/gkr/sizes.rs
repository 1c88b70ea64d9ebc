//! Sizes that several steps share.

/// A layer is finished by one threadgroup from the columns of at most so many rows on, as a logarithm (3 to 12): two dispatches
/// for a round take longer than the round takes there.
pub(super) const LOG_TAIL_ROWS: usize = 11;
/// Fewest pairs of a threadgroup of a round, if there are so many.
pub(super) const MIN_CHUNK: usize = 64;
