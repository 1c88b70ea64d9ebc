//! The stacked matrix of a commitment: its layout, the ranges that hold its cells, and the prover's
//! data for one commitment.
//!
//! Traces are stacked column after column, tallest first, into a matrix of height `2^log_h`. Because
//! all lengths are powers of two in falling order, the stacked matrix read column after column is the
//! plain concatenation of the traces, followed by zeros. It is never materialised as a whole.

use std::sync::Arc;

use openvm_stark_backend::{prover::stacked_pcs::StackedLayout, StarkProtocolConfig};
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config;

use crate::{
    hash::{HashScheme, MerkleTreeMetal},
    kept_codewords::KeptCodewords,
    matrix::MetalSliceOwned,
    prelude::F,
};

/// A contiguous range of the stacked matrix, column major: cells `start .. start + cells.len()`.
#[derive(Clone, Debug)]
pub struct StackedRange {
    /// Index of the first cell: `column * 2^log_h + row`, a multiple of `2^l_skip`.
    pub start: u64,
    /// The cells; the length is a multiple of `2^l_skip`.
    pub cells: MetalSliceOwned<F>,
}

/// The prover's data of one commitment.
pub struct StackedPcsDataMetal<SC: HashScheme = BabyBearPoseidon2Config> {
    /// Place of each column of each matrix in the stacked matrix.
    pub layout: Arc<StackedLayout>,
    /// The cells of the stacked matrix in order, from 0 to `height * width` without gap or overlap:
    /// large traces by reference, everything else (small traces, traces shorter than `2^l_skip` with
    /// their stride, the zero padding at the end) in ranges of one buffer of its own.
    pub ranges: Arc<[StackedRange]>,
    /// Merkle tree over the Reed-Solomon codewords of the columns of the stacked matrix;
    /// `tree.backing()` is the codeword matrix, or those of its columns that are kept.
    pub tree: MerkleTreeMetal<F, SC>,
    /// Codewords that the tree has.
    pub kept: KeptCodewords,
    /// The root of the tree.
    pub root: SC::Digest,
}

/// A commitment, and what its prover keeps of it.
pub(crate) type Committed<SC> = (<SC as StarkProtocolConfig>::Digest, StackedPcsDataMetal<SC>);

impl<SC: HashScheme> StackedPcsDataMetal<SC> {
    /// Number of cells of the stacked matrix: `height * width`.
    pub fn num_cells(&self) -> u64 {
        self.layout.height() as u64 * self.layout.width() as u64
    }
}
