//! The stacked matrix of a commitment: layout, segments, prover data.

use crate::{matrix::MetalSliceOwned, prelude::F};

/// A contiguous range of the stacked matrix, column major: cells `start .. start + cells.len()`.
#[derive(Clone, Debug)]
pub struct StackedSegment {
    /// Index of the first cell: `column * 2^log_h + row`, a multiple of `2^l_skip`.
    pub start: u64,
    /// The cells; the length is a multiple of `2^l_skip`.
    pub cells: MetalSliceOwned<F>,
}
