//! Rows that are absorbed column by column, as they are encoded.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalError, MetalSlice};

use super::merkle::MerkleTreeMetal;
use crate::{
    kernels,
    matrix::MetalMatrix,
    params::{MerkleAbsorbParams, MerkleLeafParams},
    prelude::{Digest, F, RATE},
};

/// The sponges of all rows of a matrix of which some columns were absorbed: 32 bytes a row.
///
/// Between two columns that are multiples of 8, a sponge in overwrite mode is its capacity: what was squeezed
/// into the rate is overwritten by the next 8 columns.
pub(crate) struct AbsorbedRows {
    states: MetalBuffer<Digest>,
    /// Columns that were absorbed, a multiple of 8.
    columns: usize,
}

impl AbsorbedRows {
    /// Bytes of the states of so many rows.
    pub fn bytes(rows: usize) -> u64 {
        (rows * size_of::<Digest>()) as u64
    }

    /// No column was absorbed yet.
    pub fn new(s: &CommandStream, rows: usize) -> Result<Self, MetalError> {
        Ok(Self {
            states: MetalBuffer::uninit(s.context(), rows)?,
            columns: 0,
        })
    }

    /// Absorbs what is new of the first columns of a matrix of `width`, which are given, a multiple of 8 of them and so that 8 are
    /// left.
    pub fn absorb(
        &mut self,
        s: &CommandStream,
        encoded: MetalSlice<'_, F>,
        width: usize,
    ) -> Result<(), MetalError> {
        let rows = self.states.len();
        let ready = (encoded.len() / rows).min(width.saturating_sub(RATE)) / RATE * RATE;
        let new = ready.saturating_sub(self.columns);
        if new == 0 {
            return Ok(());
        }
        let p = MerkleAbsorbParams {
            height: rows as u64,
            rows: rows as u32,
            width: new as u32,
            resumes: u32::from(self.columns > 0),
        };
        let matrix = encoded.slice(self.columns * rows..ready * rows);
        kernels::merkle_absorb(s, Grid::threads(rows), matrix, &mut self.states, &p)?;
        self.columns = ready;
        Ok(())
    }
}

impl MerkleTreeMetal<F> {
    /// As [`MerkleTreeMetal::new`] for a matrix whose first columns were absorbed.
    pub(crate) fn resumed(
        s: &CommandStream,
        matrix: MetalMatrix<F>,
        rows_per_query: usize,
        absorbed: &AbsorbedRows,
    ) -> Result<(Self, Digest), MetalError> {
        if absorbed.columns == 0 {
            return Self::new(s, matrix, rows_per_query);
        }
        let columns = absorbed.columns;
        Self::with_leaves(s, matrix, rows_per_query, &|grid, matrix, digests, p| {
            let left = matrix.slice(columns * absorbed.states.len()..);
            let p = MerkleLeafParams {
                width: p.width - columns as u32,
                ..*p
            };
            kernels::merkle_leaves_resumed(s, grid, left, &absorbed.states, digests, &p)
        })
    }
}
