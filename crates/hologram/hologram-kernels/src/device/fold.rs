//! Reductions and losses: parts by threadgroups, then the parts by one.

use openvm_metal_common::{Grid, MetalBuffer, MetalSlice};

use super::launch::Call;
use super::DeviceError;
use crate::params::ReduceParams;
use crate::{LossOp, ReduceOp, Ty};

const THREADS: u32 = 256;
/// Bytes that are worth a threadgroup.
const PART_BYTES: u64 = 1 << 14;
/// Most threadgroups: they fill any device.
const MAX_PARTS: u64 = 1024;

/// In how many parts `count` elements are folded, and how many elements each has.
fn plan(ty: Ty, count: u64) -> (u64, u64) {
    let size = ty.size() as u64;
    let wanted = (count.saturating_mul(size) / PART_BYTES).clamp(1, MAX_PARTS);
    // Whole steps of a threadgroup of 16-byte loads.
    let part = count
        .div_ceil(wanted)
        .max(1)
        .next_multiple_of(u64::from(THREADS) * 16 / size);
    (count.div_ceil(part).max(1), part)
}

/// Result of a fold of no elements, as bits. Halves are folded as `f32`: their result is the bits of an `f32`.
fn identity(op: ReduceOp, ty: Ty) -> u64 {
    let ty = ty.calculated();
    let float = |single: f32, double: f64| match ty {
        Ty::F32 => single.to_bits().into(),
        _ => double.to_bits(),
    };
    let sign = 1u64 << (ty.bits() - 1);
    match (op, ty) {
        (ReduceOp::Sum, _) => 0,
        (ReduceOp::Product, Ty::F32 | Ty::F64) => float(1.0, 1.0),
        (ReduceOp::Product, _) => 1,
        (ReduceOp::Min, Ty::F32 | Ty::F64) => float(f32::INFINITY, f64::INFINITY),
        (ReduceOp::Max, Ty::F32 | Ty::F64) => float(f32::NEG_INFINITY, f64::NEG_INFINITY),
        (ReduceOp::Min, _) if ty.is_signed_int() => sign - 1,
        (ReduceOp::Min, _) => ty.mask(),
        (ReduceOp::Max, _) if ty.is_signed_int() => sign,
        (ReduceOp::Max, _) => 0,
    }
}

impl Call<'_> {
    /// Fold of operand 1.
    pub fn reduce(&self, op: ReduceOp, count: u64) -> Result<(), DeviceError> {
        let (parts, part) = plan(self.ty, count);
        let aligned = self.all_aligned(2);
        let source = self.operand(1);
        let apart = count > 0 && !source.overlaps(&self.operand(0));
        if parts == 1 && self.ty == self.ty.calculated() && apart {
            return self.reduce_part(op, source, count, (parts, part), aligned, None, None);
        }
        let mut partial = self.partial(parts)?;
        let out = partial.as_slice_mut();
        let out = Some(out.as_slice());
        self.reduce_part(op, source, count, (parts, part), aligned, out, None)?;
        self.finish(op, partial.as_slice(), parts, None)
    }

    /// Memory for a value of each part.
    fn partial(&self, parts: u64) -> Result<MetalBuffer<u8>, DeviceError> {
        let bytes = parts as usize * self.ty.calculated().size();
        Ok(MetalBuffer::uninit(self.stream.context(), bytes)?)
    }

    /// Folds one value of each part to operand 0, and multiplies the result by `factor` if there is one.
    fn finish(
        &self,
        op: ReduceOp,
        values: MetalSlice<'_, u8>,
        parts: u64,
        factor: Option<f64>,
    ) -> Result<(), DeviceError> {
        let ty = self.ty.calculated();
        let part = plan(ty, parts).1.max(parts);
        if ty == self.ty {
            return self.reduce_part(op, values, parts, (1, part), true, None, factor);
        }
        self.stream
            .encode(self.kernel("round")?, Grid::groups(1, THREADS))
            .buffer_range(0, values)
            .buffer_range(1, self.operand(0))
            .value(2, &self.params(op, parts, part, true, factor))
            .dispatch()?;
        Ok(())
    }

    fn params(
        &self,
        op: ReduceOp,
        count: u64,
        part: u64,
        aligned: bool,
        factor: Option<f64>,
    ) -> ReduceParams {
        ReduceParams {
            count,
            part,
            identity: identity(op, self.ty),
            factor: factor.map_or(0, |factor| match self.ty.calculated() {
                Ty::F32 => u64::from((factor as f32).to_bits()),
                _ => factor.to_bits(),
            }),
            op: op.code().into(),
            aligned: aligned.into(),
            scaled: factor.is_some().into(),
            pad: 0,
        }
    }

    /// Folds each part of `source` to a value in `out`, or all of it to operand 0, times `factor` if there is one.
    #[allow(clippy::too_many_arguments)]
    fn reduce_part(
        &self,
        op: ReduceOp,
        source: MetalSlice<'_, u8>,
        count: u64,
        (parts, part): (u64, u64),
        aligned: bool,
        out: Option<MetalSlice<'_, u8>>,
        factor: Option<f64>,
    ) -> Result<(), DeviceError> {
        let params = self.params(op, count, part, aligned, factor);
        let out = out.unwrap_or(self.operand(0));
        // Of no elements nothing is read, but a buffer must be bound.
        let source = if count == 0 { self.operand(0) } else { source };
        self.stream
            .encode(self.kernel("reduce")?, Grid::groups(parts as u32, THREADS))
            .buffer_range(0, source)
            .buffer_range(1, out)
            .value(2, &params)
            .dispatch()?;
        Ok(())
    }

    /// Mean loss of operands 1 and 2.
    pub fn loss(&self, op: LossOp, count: u64) -> Result<(), DeviceError> {
        let (parts, part) = plan(self.ty, count);
        let mut partial = self.partial(parts)?;
        let params = ReduceParams {
            count,
            part,
            identity: 0,
            factor: 0,
            op: op.code().into(),
            aligned: 0,
            scaled: 0,
            pad: 0,
        };
        let out = partial.as_slice_mut();
        let read = |index| match count {
            0 => self.operand(0),
            _ => self.operand(index),
        };
        self.stream
            .encode(self.kernel("loss")?, Grid::groups(parts as u32, THREADS))
            .buffer_range(0, read(1))
            .buffer_range(1, read(2))
            .buffer_range(2, out.as_slice())
            .value(3, &params)
            .dispatch()?;
        let sign = if op == LossOp::Mse { 1.0 } else { -1.0 };
        let factor = Some(sign / count as f64);
        self.finish(ReduceOp::Sum, partial.as_slice(), parts, factor)
    }
}
