//! Prefix sums.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalError, MetalSliceMut};

use super::{unfit, GROUP_THREADS};
use crate::kernels;
use crate::params::PolyScanParams;
use crate::prelude::EF;

/// Elements of a tile, `SCAN_TILE` in `metal/poly/scan.metal`.
const TILE: usize = 1024;

/// Inclusive prefix sums in place: `values[i] = values[0] + ... + values[i]`. Three dispatches up to
/// 2^20 elements, five up to 2^30; 80 bytes and three additions per element.
///
/// # Errors
/// More than 2^32 elements, or memory.
pub fn prefix_sums(
    s: &CommandStream,
    values: &mut MetalSliceMut<'_, EF>,
) -> Result<(), MetalError> {
    let len = values.len();
    if len < 2 {
        return Ok(());
    }
    let too_long = || {
        unfit(
            "poly_scan_tiles",
            "values",
            "at most 2^32 elements",
            len.to_string(),
        )
    };
    let tiles = len.div_ceil(TILE);
    let groups = u32::try_from(tiles).map_err(|_| too_long())?;
    let mut totals = MetalBuffer::uninit(s.context(), tiles)?;
    let p = PolyScanParams { len: len as u64 };
    kernels::poly_scan_tiles(
        s,
        Grid::groups(groups, GROUP_THREADS),
        &mut *values,
        &mut totals,
        &p,
    )?;
    if tiles > 1 {
        prefix_sums(s, &mut totals.as_slice_mut())?;
        let threads = u32::try_from(len - TILE).map_err(|_| too_long())?;
        kernels::poly_scan_add(s, Grid::threads(len - TILE), values, &totals, &threads)?;
    }
    Ok(())
}
