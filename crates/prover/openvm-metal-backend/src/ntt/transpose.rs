//! Transposition of matrices of base elements.

use openvm_metal_common::{CommandStream, Grid, MetalError, MetalSlice, MetalSliceMut};

use super::THREADS;
use crate::{kernels, params::TransposeParams, prelude::F};

/// `out[c * rows + r] = input[r * cols + c]`: row major to column major.
///
/// # Errors
/// If a slice is shorter than `rows * cols`, or the device fails.
pub fn transpose(
    s: &CommandStream,
    input: &MetalSlice<'_, F>,
    out: &mut MetalSliceMut<'_, F>,
    rows: usize,
    cols: usize,
) -> Result<(), MetalError> {
    // Tiles of 2^11 cells, no wider than the matrix.
    let log_tile = (cols.max(1).next_power_of_two().ilog2()).min(5);
    let tiles = cols.div_ceil(1 << log_tile);
    let p = TransposeParams {
        rows: rows as u64,
        cols: cols as u64,
        log_tile,
        tiles: tiles as u32,
    };
    let groups = rows.div_ceil(2048 >> log_tile).saturating_mul(tiles);
    let grid = Grid::groups(groups as u32, THREADS);
    kernels::matrix_transpose_base(s, grid, *input, out.reborrow(), &p)
}
