//! Sums and inner products of extension-field vectors, for many equally long segments at once.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalError, MetalSlice};

use super::{busy_groups, unfit, TensorFactors, GROUP_THREADS};
use crate::kernels;
use crate::params::{PolyReduceParams, PolyTensorDotParams};
use crate::prelude::{EF, F};

/// Elements that are worth a threadgroup of their own.
const MIN_BLOCK: usize = 1 << 11;

/// How a reduction is cut: `blocks` threadgroups per segment.
struct Plan {
    segments: usize,
    len: usize,
    block_len: usize,
    blocks: usize,
}

impl Plan {
    /// `unit`: block lengths are multiples of it.
    fn new(
        s: &CommandStream,
        kernel: &'static str,
        cells: usize,
        segments: usize,
        unit: usize,
    ) -> Result<Self, MetalError> {
        if segments == 0 || !cells.is_multiple_of(segments) || cells == 0 {
            let expected = format!("a multiple of {segments} elements, at least one each");
            return Err(unfit(kernel, "values", expected, cells.to_string()));
        }
        let len = cells / segments;
        let wanted = busy_groups(s.context().device_profile()).div_ceil(segments);
        let block_len = len.div_ceil(wanted).max(MIN_BLOCK).next_multiple_of(unit);
        Ok(Self {
            segments,
            len,
            block_len,
            blocks: len.div_ceil(block_len),
        })
    }

    fn groups(&self, kernel: &'static str) -> Result<Grid, MetalError> {
        let groups = u32::try_from(self.segments * self.blocks).map_err(|_| {
            unfit(
                kernel,
                "values",
                "fewer than 2^32 segments",
                self.segments.to_string(),
            )
        })?;
        Ok(Grid::groups(groups, GROUP_THREADS))
    }

    fn params(&self) -> PolyReduceParams {
        PolyReduceParams {
            len: self.len as u64,
            stride: self.len as u64,
            block_len: self.block_len as u64,
            blocks: self.blocks as u32,
            pad: 0,
        }
    }

    /// Adds the blocks of each segment, if there is more than one.
    fn finish(
        &self,
        s: &CommandStream,
        partial: MetalBuffer<EF>,
    ) -> Result<MetalBuffer<EF>, MetalError> {
        if self.blocks == 1 {
            return Ok(partial);
        }
        let rest = Plan {
            segments: self.segments,
            len: self.blocks,
            block_len: self.blocks,
            blocks: 1,
        };
        let mut out = MetalBuffer::uninit(s.context(), self.segments)?;
        kernels::poly_sum_ext(
            s,
            rest.groups("poly_sum_ext")?,
            &partial,
            &mut out,
            &rest.params(),
        )?;
        Ok(out)
    }
}

/// The sum of each of `segments` equally long parts of `values`: at most two dispatches, 16 bytes and
/// one addition per element.
///
/// # Errors
/// If `values` is empty or no multiple of `segments`, or memory.
pub fn sum_ext(
    s: &CommandStream,
    values: &MetalSlice<'_, EF>,
    segments: usize,
) -> Result<MetalBuffer<EF>, MetalError> {
    let plan = Plan::new(s, "poly_sum_ext", values.len(), segments, 64)?;
    let mut out = MetalBuffer::uninit(s.context(), segments * plan.blocks)?;
    kernels::poly_sum_ext(
        s,
        plan.groups("poly_sum_ext")?,
        values,
        &mut out,
        &plan.params(),
    )?;
    plan.finish(s, out)
}

/// `sum_i weights[i] * segment[i]` for each of the segments of `values`, each as long as `weights`.
///
/// # Errors
/// If the lengths do not fit, or memory.
pub fn dot_ext(
    s: &CommandStream,
    weights: &MetalSlice<'_, EF>,
    values: &MetalSlice<'_, EF>,
) -> Result<MetalBuffer<EF>, MetalError> {
    let segments = segments_of("poly_dot_ext", weights.len(), values.len())?;
    let plan = Plan::new(s, "poly_dot_ext", values.len(), segments, 64)?;
    let mut out = MetalBuffer::uninit(s.context(), segments * plan.blocks)?;
    kernels::poly_dot_ext(
        s,
        plan.groups("poly_dot_ext")?,
        weights,
        values,
        &mut out,
        &plan.params(),
    )?;
    plan.finish(s, out)
}

/// As [`dot_ext`] for base-field values: the columns of a matrix in weighted sums of its rows.
///
/// # Errors
/// If the lengths do not fit, or memory.
pub fn dot_base(
    s: &CommandStream,
    weights: &MetalSlice<'_, EF>,
    values: &MetalSlice<'_, F>,
) -> Result<MetalBuffer<EF>, MetalError> {
    let segments = segments_of("poly_dot_base", weights.len(), values.len())?;
    let plan = Plan::new(s, "poly_dot_base", values.len(), segments, 64)?;
    let mut out = MetalBuffer::uninit(s.context(), segments * plan.blocks)?;
    kernels::poly_dot_base(
        s,
        plan.groups("poly_dot_base")?,
        weights,
        values,
        &mut out,
        &plan.params(),
    )?;
    plan.finish(s, out)
}

/// Inner products of `segments` equally long parts of `values` with the table of `weights`, which is
/// never written: at most two dispatches after those of the factors.
///
/// # Errors
/// If a segment is longer than the table, or memory.
pub fn tensor_dot_ext(
    s: &CommandStream,
    weights: &TensorFactors,
    values: &MetalSlice<'_, EF>,
    segments: usize,
) -> Result<MetalBuffer<EF>, MetalError> {
    let (plan, p) = tensor_plan(s, "poly_tensor_dot_ext", weights, values.len(), segments)?;
    let mut out = MetalBuffer::uninit(s.context(), segments * plan.blocks)?;
    let grid = plan.groups("poly_tensor_dot_ext")?;
    kernels::poly_tensor_dot_ext(s, grid, weights.buffer(), values, &mut out, &p)?;
    plan.finish(s, out)
}

/// As [`tensor_dot_ext`] for base-field values.
///
/// # Errors
/// If a segment is longer than the table, or memory.
pub fn tensor_dot_base(
    s: &CommandStream,
    weights: &TensorFactors,
    values: &MetalSlice<'_, F>,
    segments: usize,
) -> Result<MetalBuffer<EF>, MetalError> {
    let (plan, p) = tensor_plan(s, "poly_tensor_dot_base", weights, values.len(), segments)?;
    let mut out = MetalBuffer::uninit(s.context(), segments * plan.blocks)?;
    let grid = plan.groups("poly_tensor_dot_base")?;
    kernels::poly_tensor_dot_base(s, grid, weights.buffer(), values, &mut out, &p)?;
    plan.finish(s, out)
}

fn segments_of(kernel: &'static str, weights: usize, values: usize) -> Result<usize, MetalError> {
    if weights == 0 || values == 0 || !values.is_multiple_of(weights) {
        let expected = format!("a positive multiple of the {weights} weights");
        return Err(unfit(kernel, "values", expected, values.to_string()));
    }
    Ok(values / weights)
}

fn tensor_plan(
    s: &CommandStream,
    kernel: &'static str,
    weights: &TensorFactors,
    cells: usize,
    segments: usize,
) -> Result<(Plan, PolyTensorDotParams), MetalError> {
    let row = 1usize << weights.low_bits();
    let plan = Plan::new(s, kernel, cells, segments, row)?;
    if plan.len > 1 << weights.vars() {
        let expected = format!("segments of at most 2^{} elements", weights.vars());
        return Err(unfit(kernel, "values", expected, plan.len.to_string()));
    }
    let p = PolyTensorDotParams {
        len: plan.len as u64,
        stride: plan.len as u64,
        low_bits: weights.low_bits() as u32,
        rows_per_block: (plan.block_len / row) as u32,
        blocks: plan.blocks as u32,
        pad: 0,
    };
    Ok((plan, p))
}
