//! Folds of multilinear tables.

use openvm_metal_common::{
    CommandStream, Grid, MetalBuffer, MetalError, MetalSlice, MetalSliceMut,
};

use super::unfit;
use crate::kernels;
use crate::params::PolyFoldParams;
use crate::prelude::EF;

/// Fixes the lowest variable of multilinear tables to `r`: `out[y] = t[2y] + r (t[2y+1] - t[2y])`, as
/// the reference's `fold_mle_evals`. Columns of equal even height that follow each other are folded
/// as one table. One dispatch; 48 bytes and one extension product per element written.
///
/// # Errors
/// If the number of elements is odd, or memory.
pub fn fold_ext(
    s: &CommandStream,
    table: &MetalSlice<'_, EF>,
    r: EF,
) -> Result<MetalBuffer<EF>, MetalError> {
    let mut out = MetalBuffer::uninit(s.context(), table.len() / 2)?;
    fold_ext_into(s, table, r, &mut out.as_slice_mut())?;
    Ok(out)
}

/// As [`fold_ext`], written to the `table.len() / 2` elements of `out`, which must not overlap.
pub fn fold_ext_into(
    s: &CommandStream,
    table: &MetalSlice<'_, EF>,
    r: EF,
    out: &mut MetalSliceMut<'_, EF>,
) -> Result<(), MetalError> {
    if table.len() % 2 != 0 || out.len() != table.len() / 2 {
        let expected = format!("twice the {} elements of the result", out.len());
        return Err(unfit(
            "poly_fold_ext",
            "table",
            expected,
            table.len().to_string(),
        ));
    }
    let threads = u32::try_from(out.len()).map_err(|_| {
        unfit(
            "poly_fold_ext",
            "table",
            "at most 2^33 elements",
            table.len().to_string(),
        )
    })?;
    let p = PolyFoldParams {
        r,
        threads,
        pad: [0; 3],
    };
    kernels::poly_fold_ext(s, Grid::threads(out.len()), table, out, &p)
}
