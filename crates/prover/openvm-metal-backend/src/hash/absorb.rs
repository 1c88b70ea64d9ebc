//! Rows that are absorbed column by column, as they are encoded.

use openvm_metal_common::{CommandStream, MetalBuffer, MetalError, MetalSlice};

use super::{layers::row_grid, merkle::MerkleTreeMetal, scheme::HashScheme};
use crate::{
    matrix::MetalMatrix,
    memory::DIGEST,
    params::{MerkleAbsorbParams, MerkleLeafParams},
    prelude::F,
};

/// Bytes of the sponges of so many rows.
pub(crate) fn absorbed_bytes(rows: usize) -> u64 {
    rows as u64 * DIGEST
}

/// The sponges of all rows of a matrix of which some columns were absorbed: 32 bytes a row.
///
/// Between two columns that are multiples of the rate, a sponge in overwrite mode is its capacity: what was squeezed
/// into the rate is overwritten by the next columns.
pub(crate) struct AbsorbedRows<SC: HashScheme> {
    states: MetalBuffer<SC::Node>,
    /// Columns that were absorbed, a multiple of the rate.
    columns: usize,
}

impl<SC: HashScheme> AbsorbedRows<SC> {
    /// No column was absorbed yet.
    pub fn new(s: &CommandStream, rows: usize) -> Result<Self, MetalError> {
        Ok(Self {
            states: MetalBuffer::uninit(s.context(), rows)?,
            columns: 0,
        })
    }

    /// Absorbs what is new of the first columns of a matrix of `width`, which are given: whole permutations, so that columns of one are left.
    pub fn absorb(
        &mut self,
        s: &CommandStream,
        encoded: MetalSlice<'_, F>,
        width: usize,
    ) -> Result<(), MetalError> {
        let rows = self.states.len();
        let ready =
            (encoded.len() / rows).min(width.saturating_sub(SC::RATE)) / SC::RATE * SC::RATE;
        match ready > self.columns {
            true => self.absorb_all(s, encoded.slice(self.columns * rows..ready * rows)),
            false => Ok(()),
        }
    }

    /// Absorbs the next columns of the rows, a multiple of the rate that is not the end of them.
    pub fn absorb_all(
        &mut self,
        s: &CommandStream,
        columns: MetalSlice<'_, F>,
    ) -> Result<(), MetalError> {
        let rows = self.states.len();
        let new = columns.len() / rows;
        debug_assert!(new.is_multiple_of(SC::RATE), "{new} columns");
        if new == 0 {
            return Ok(());
        }
        let p = MerkleAbsorbParams {
            height: rows as u64,
            rows: rows as u32,
            width: new as u32,
            resumes: u32::from(self.columns > 0),
        };
        let grid = row_grid(s.context().device_profile(), rows);
        SC::absorb(s, grid, columns, self.states.as_slice_mut(), &p)?;
        self.columns += new;
        Ok(())
    }

    /// Columns that were absorbed.
    pub fn columns(&self) -> usize {
        self.columns
    }
}

impl<SC: HashScheme> MerkleTreeMetal<F, SC> {
    /// Does the work of [`MerkleTreeMetal::encode`] for rows of which columns were absorbed; the first `done` columns of `matrix` are among
    /// those, the others are the last ones of the rows.
    pub(crate) fn resumed(
        s: &CommandStream,
        matrix: MetalMatrix<F>,
        done: usize,
        rows_per_query: usize,
        absorbed: &AbsorbedRows<SC>,
    ) -> Result<Self, MetalError> {
        if absorbed.columns == 0 {
            return Self::encode(s, matrix, rows_per_query);
        }
        Self::encode_with_leaves(s, matrix, rows_per_query, &|grid, matrix, digests, p| {
            let left = matrix.slice(done * absorbed.states.len()..);
            let p = MerkleLeafParams {
                width: p.width - done as u32,
                ..*p
            };
            SC::leaves_resumed(s, grid, left, absorbed.states.as_slice(), digests, &p)
        })
    }
}
