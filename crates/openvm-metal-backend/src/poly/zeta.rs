//! Subset-sum (zeta) and Moebius transforms of multilinear tables, and the local transform that turns
//! evaluations on `D x {0,1}^n` into the message of the Reed-Solomon code.

use openvm_metal_common::{CommandStream, Grid, MetalError, MetalSlice, MetalSliceMut};
use p3_field::{Field, PrimeCharacteristicRing, TwoAdicField};

use super::{log2_exact, unfit, GROUP_THREADS};
use crate::kernels;
use crate::params::{PolyChunkParams, PolyZetaParams};
use crate::prelude::{EF, F};

/// Bits of the largest tile, `ZETA_TILE` in `metal/poly/zeta.h`.
const TILE_BITS: usize = 10;
/// Later passes keep runs of 2^2 elements, 64 bytes, together.
const RUN_BITS: usize = 2;

/// Multilinear coefficients to evaluations on the hypercube, in place: `Mle::coeffs_to_evals_inplace`.
/// One pass over memory up to 2^10 elements, two up to 2^18, three up to 2^26.
///
/// # Errors
/// If the length is no power of two.
pub fn coeffs_to_evals(
    s: &CommandStream,
    table: &mut MetalSliceMut<'_, EF>,
) -> Result<(), MetalError> {
    zeta_from(s, table, 0, false)
}

/// Evaluations on the hypercube to multilinear coefficients, in place: `Mle::evals_to_coeffs_inplace`.
///
/// # Errors
/// If the length is no power of two.
pub fn evals_to_coeffs(
    s: &CommandStream,
    table: &mut MetalSliceMut<'_, EF>,
) -> Result<(), MetalError> {
    zeta_from(s, table, 0, true)
}

/// `eval_to_coeff_rs_message` of a column: for every chunk of `2^l_skip` elements the inverse DFT, then
/// subset sums over the chunk's index bits. One dispatch.
///
/// # Errors
/// If the length is no power of two or shorter than a chunk, or `l_skip` is over 10.
pub fn chunk_transform(
    s: &CommandStream,
    column: &MetalSlice<'_, EF>,
    l_skip: usize,
    out: &mut MetalSliceMut<'_, EF>,
) -> Result<(), MetalError> {
    chunk_pass(s, column, l_skip, out, false).map(|_| ())
}

/// Hypercube evaluations of the multilinear polynomial whose coefficients are
/// `eval_to_coeff_rs_message(l_skip, column)`: what WHIR starts from. As many passes as
/// [`coeffs_to_evals`]: the local transform is fused into the first.
///
/// # Errors
/// As [`chunk_transform`].
pub fn hat_evals(
    s: &CommandStream,
    column: &MetalSlice<'_, EF>,
    l_skip: usize,
    out: &mut MetalSliceMut<'_, EF>,
) -> Result<(), MetalError> {
    let done = chunk_pass(s, column, l_skip, out, true)?;
    zeta_from(s, out, done, false)
}

/// The first pass; returns the number of bits of its tile.
fn chunk_pass(
    s: &CommandStream,
    column: &MetalSlice<'_, EF>,
    l_skip: usize,
    out: &mut MetalSliceMut<'_, EF>,
    zeta_tile: bool,
) -> Result<usize, MetalError> {
    let name = "poly_chunk_transform";
    let vars = log2_exact(name, "in", column.len())?;
    if out.len() != column.len() {
        return Err(MetalError::LengthMismatch {
            source_len: column.len(),
            destination_len: out.len(),
        });
    }
    if l_skip > vars.min(TILE_BITS) {
        let expected = format!("chunks of at most 2^{} elements", vars.min(TILE_BITS));
        return Err(unfit(name, "l_skip", expected, format!("2^{l_skip}")));
    }
    let log_tile = vars.min(TILE_BITS);
    let p = PolyChunkParams {
        root_inv: F::two_adic_generator(l_skip).inverse(),
        scale: F::ONE.halve().exp_u64(l_skip as u64),
        log_chunk: l_skip as u32,
        log_tile: log_tile as u32,
        zeta_tile: u32::from(zeta_tile),
    };
    let groups = tiles(name, vars, log_tile)?;
    kernels::poly_chunk_transform(s, Grid::groups(groups, GROUP_THREADS), column, out, &p)?;
    Ok(log_tile)
}

/// Subset sums over all index bits from `first_bit` on.
fn zeta_from(
    s: &CommandStream,
    table: &mut MetalSliceMut<'_, EF>,
    mut first_bit: usize,
    subtract: bool,
) -> Result<(), MetalError> {
    let name = "poly_zeta_pass";
    let vars = log2_exact(name, "table", table.len())?;
    while first_bit < vars {
        let run_bits = first_bit.min(RUN_BITS);
        let bits = balanced(vars - first_bit, TILE_BITS - run_bits, first_bit == 0);
        let p = PolyZetaParams {
            first_bit: first_bit as u32,
            bits: bits as u32,
            run_bits: run_bits as u32,
            subtract: u32::from(subtract),
        };
        let groups = tiles(name, vars, run_bits + bits)?;
        kernels::poly_zeta_pass(s, Grid::groups(groups, GROUP_THREADS), &mut *table, &p)?;
        first_bit += bits;
    }
    Ok(())
}

/// Bits of the next pass: the first takes all it can, the others share the rest evenly.
fn balanced(left: usize, most: usize, first: bool) -> usize {
    if first {
        return left.min(most);
    }
    left.div_ceil(left.div_ceil(most))
}

fn tiles(kernel: &'static str, vars: usize, log_tile: usize) -> Result<u32, MetalError> {
    let log_groups = vars - log_tile;
    if log_groups >= 32 {
        return Err(unfit(
            kernel,
            "table",
            "fewer than 2^42 elements",
            format!("2^{vars}"),
        ));
    }
    Ok(1 << log_groups)
}
