//! Tensor tables on the device, whole or as two factors of about the square root of the size.

use openvm_metal_common::{
    CommandStream, Grid, MetalBuffer, MetalError, MetalSlice, MetalSliceMut,
};
use p3_field::PrimeCharacteristicRing;

use super::{unfit, TensorWeights};
use crate::kernels;
use crate::params::{PolyOuterParams, PolyTensorParams, POLY_MAX_VARS};
use crate::prelude::EF;

/// Tables of up to `2^DIRECT_VARS` entries are computed entry by entry in one launch.
const DIRECT_VARS: usize = 10;
/// Rows of the outer product that one thread writes at most.
const ROWS_PER_THREAD: usize = 8;
/// Threads below which the rows of a thread are cut instead.
const ENOUGH_THREADS: usize = 1 << 17;

/// The factors of a table: `T[h << low_bits | l] = low[l] * high[h]`.
#[derive(Debug)]
pub struct TensorFactors {
    factors: MetalBuffer<EF>,
    low_bits: usize,
    vars: usize,
}

impl TensorFactors {
    /// Both factors: `low` (with the scale), then `high`.
    pub fn buffer(&self) -> &MetalBuffer<EF> {
        &self.factors
    }

    /// Variables of the low factor.
    pub fn low_bits(&self) -> usize {
        self.low_bits
    }

    /// Variables of the table.
    pub fn vars(&self) -> usize {
        self.vars
    }

    /// The low factor, `2^low_bits` entries, with the scale.
    pub fn low(&self) -> MetalSlice<'_, EF> {
        self.factors.slice(..1 << self.low_bits)
    }

    /// The high factor, `2^(vars - low_bits)` entries.
    pub fn high(&self) -> MetalSlice<'_, EF> {
        self.factors.slice(1 << self.low_bits..)
    }
}

fn params(
    w: &TensorWeights,
    low_bits: usize,
    high_bits: usize,
) -> Result<PolyTensorParams, MetalError> {
    if w.vars() > POLY_MAX_VARS {
        let expected = format!("at most {POLY_MAX_VARS} variables");
        return Err(unfit(
            "poly_tensor_factors",
            "point",
            expected,
            w.vars().to_string(),
        ));
    }
    let mut p = PolyTensorParams {
        scale: w.scale(),
        w0: [EF::ONE; POLY_MAX_VARS],
        w1: [EF::ONE; POLY_MAX_VARS],
        low_bits: low_bits as u32,
        high_bits: high_bits as u32,
        threads: 0,
        pad: 0,
    };
    for (i, pair) in w.pairs().iter().enumerate() {
        p.w0[i] = pair[0];
        p.w1[i] = pair[1];
    }
    Ok(p)
}

/// The factor tables of `w`, split in the middle. One dispatch of `2^(vars/2)` threads and more.
///
/// # Errors
/// More than 32 variables, or memory.
pub fn tensor_factors(s: &CommandStream, w: &TensorWeights) -> Result<TensorFactors, MetalError> {
    // At least 32 low entries, so that no vector of lanes spans both factors.
    tensor_factors_split(s, w, w.vars().div_ceil(2).max(5))
}

/// The factor tables with `low_bits >= 5` variables in the low factor; with fewer variables than that,
/// the missing ones have weights (1, 1) and the high factor is the constant 1.
fn tensor_factors_split(
    s: &CommandStream,
    w: &TensorWeights,
    low_bits: usize,
) -> Result<TensorFactors, MetalError> {
    let high_bits = w.vars().saturating_sub(low_bits);
    let mut p = params(w, low_bits, high_bits)?;
    // A factor without variables still has its one entry: give it a variable with weights (1, 1).
    p.high_bits = high_bits.max(1) as u32;
    let entries = (1usize << low_bits) + (1 << high_bits.max(1));
    p.threads = entries as u32;
    let mut factors = MetalBuffer::uninit(s.context(), entries)?;
    kernels::poly_tensor_factors(s, Grid::threads(entries), &mut factors, &p)?;
    Ok(TensorFactors {
        factors,
        low_bits,
        vars: w.vars(),
    })
}

/// Writes the first `out.len()` entries of a table, at most `2^vars`: one dispatch for up to 1024
/// entries, else two; one extension product and 16 bytes per entry.
///
/// # Errors
/// More than 32 variables, a longer `out`, or memory.
pub fn tensor_table_into(
    s: &CommandStream,
    w: &TensorWeights,
    out: &mut MetalSliceMut<'_, EF>,
) -> Result<(), MetalError> {
    let len = out.len();
    if w.vars() < usize::BITS as usize && len > 1 << w.vars() {
        let expected = format!("at most 2^{} entries", w.vars());
        return Err(unfit(
            "poly_tensor_factors",
            "out",
            expected,
            len.to_string(),
        ));
    }
    if len == 0 {
        return Ok(());
    }
    if len <= 1 << DIRECT_VARS {
        let mut p = params(w, w.vars(), 0)?;
        p.threads = len as u32;
        return kernels::poly_tensor_factors(s, Grid::threads(len), out, &p);
    }
    let factors = tensor_factors(s, w)?;
    let low_size = 1usize << factors.low_bits;
    let rows = len.div_ceil(low_size);
    let rows_per_thread = (len / ENOUGH_THREADS).clamp(1, ROWS_PER_THREAD);
    let threads = low_size * rows.div_ceil(rows_per_thread);
    let p = PolyOuterParams {
        len: len as u64,
        low_bits: factors.low_bits as u32,
        rows_per_thread: rows_per_thread as u32,
        threads: u32::try_from(threads).map_err(|_| {
            unfit(
                "poly_tensor_outer",
                "table",
                "fewer than 2^35 entries",
                len.to_string(),
            )
        })?,
        pad: 0,
    };
    kernels::poly_tensor_outer(s, Grid::threads(threads), &factors.factors, out, &p)
}

/// The first `len` entries of a table, see [`tensor_table_into`].
pub fn tensor_table(
    s: &CommandStream,
    w: &TensorWeights,
    len: usize,
) -> Result<MetalBuffer<EF>, MetalError> {
    let mut table = MetalBuffer::uninit(s.context(), len)?;
    tensor_table_into(s, w, &mut table.as_slice_mut())?;
    Ok(table)
}

/// `scale * eq(point, y)` for all `2^n` `y`, in the order of `evals_eq_hypercube`.
pub fn eq_table(s: &CommandStream, point: &[EF], scale: EF) -> Result<MetalBuffer<EF>, MetalError> {
    full_table(s, &TensorWeights::eq(point).scaled(scale))
}

/// As [`eq_table`], written to the `2^n` elements of `out`.
pub fn eq_table_into(
    s: &CommandStream,
    point: &[EF],
    scale: EF,
    out: &mut MetalSliceMut<'_, EF>,
) -> Result<(), MetalError> {
    let w = TensorWeights::eq(point).scaled(scale);
    let len = full_len(&w)?;
    if out.len() != len {
        return Err(MetalError::LengthMismatch {
            source_len: len,
            destination_len: out.len(),
        });
    }
    tensor_table_into(s, &w, out)
}

/// The Moebius-adjusted eq table, in the order of `evals_mobius_eq_hypercube`.
pub fn mobius_eq_table(s: &CommandStream, point: &[EF]) -> Result<MetalBuffer<EF>, MetalError> {
    full_table(s, &TensorWeights::mobius_eq(point))
}

/// `base^0, ..., base^(n-1)`.
pub fn powers_table(s: &CommandStream, base: EF, n: usize) -> Result<MetalBuffer<EF>, MetalError> {
    let vars = usize::BITS - n.saturating_sub(1).leading_zeros();
    tensor_table(s, &TensorWeights::powers(base, vars as usize), n)
}

fn full_table(s: &CommandStream, w: &TensorWeights) -> Result<MetalBuffer<EF>, MetalError> {
    tensor_table(s, w, full_len(w)?)
}

fn full_len(w: &TensorWeights) -> Result<usize, MetalError> {
    if w.vars() > POLY_MAX_VARS {
        let expected = format!("at most {POLY_MAX_VARS} variables");
        return Err(unfit(
            "poly_tensor_factors",
            "point",
            expected,
            w.vars().to_string(),
        ));
    }
    Ok(1usize << w.vars())
}
