//! Half floats: widened to `f32` a chunk at a time, calculated as `f32` is, rounded once.

mod convert;
mod gemm;

pub(super) use convert::{bf16_bits, bf16_value, f16_bits, f16_value, Format};

use super::dispatch;
use super::operand::HostSpan;
use super::parallel::{pieces, ranges, Shared};
use super::reduce::{self, pairs, Fold};
use super::{loss, rows};
use crate::{BinaryOp, MapOp, Operation, ReduceOp, Ty};

/// Elements that are widened at a time; a few arrays of them fit the first cache. Divides a piece.
const CHUNK: usize = 2048;

/// Runs an operation on halves; fills are those of `u16`.
///
/// # Safety
/// As [`super::run`], after [`super::check`].
pub(super) unsafe fn run(operation: &Operation, spans: &[HostSpan], format: Format) {
    let at = |index: usize| spans[index].ptr.cast::<u16>();
    let one = |value: f32| {
        // SAFETY: one element of the written span.
        unsafe { at(0).write(format.bits(value)) };
    };
    match *operation {
        Operation::Reduce { op, count, .. } => {
            let (src, count) = (at(1), count as usize);
            one(match op {
                ReduceOp::Sum => fold(format, src, count, reduce::Sum),
                ReduceOp::Product => fold(format, src, count, reduce::Product),
                ReduceOp::Min => fold(format, src, count, reduce::Min),
                ReduceOp::Max => fold(format, src, count, reduce::Max),
            });
        }
        Operation::Loss { op, count, .. } => {
            one(mean_loss(format, op, at(1), at(2), count as usize));
        }
        Operation::Softmax { rows, cols, .. } => {
            let (rows, cols) = (rows as usize, cols as usize);
            match format {
                Format::F16 => rows::softmax::<F16>(at(0), at(1), rows, cols),
                Format::Bf16 => rows::softmax::<Bf16>(at(0), at(1), rows, cols),
            }
        }
        Operation::LayerNorm {
            rows,
            cols,
            epsilon,
            ..
        } => {
            let scale = rows::Scale {
                gamma: at(2).cast_const(),
                beta: at(3).cast_const(),
                epsilon: epsilon.value(),
            };
            let (rows, cols) = (rows as usize, cols as usize);
            match format {
                Format::F16 => rows::layer_norm::<F16>(at(0), at(1), scale, rows, cols),
                Format::Bf16 => rows::layer_norm::<Bf16>(at(0), at(1), scale, rows, cols),
            }
        }
        Operation::Gemm { m, n, k, .. } => {
            let size = [m, n, k].map(|extent| extent as usize);
            gemm::gemm(format, at(0), at(1), at(2), size);
        }
        Operation::Map { count, .. }
        | Operation::MapBinary { count, .. }
        | Operation::MapScalar { count, .. }
        | Operation::Clip { count, .. } => {
            // SAFETY: the caller's promises.
            unsafe { elementwise(operation, spans, format, count as usize) }
        }
        // `run` fills with `u16`: bits of NaNs stay.
        Operation::Fill { .. } => {}
    }
}

/// The operation on `count` elements of `f32`.
fn widened(operation: &Operation, format: Format, count: usize) -> Operation {
    let (ty, count) = (Ty::F32, count as u64);
    let wide = |bits: u64| u64::from(format.value(bits).to_bits());
    match *operation {
        Operation::Map { op, .. } => Operation::Map { op, ty, count },
        Operation::MapBinary { op, .. } => Operation::MapBinary { op, ty, count },
        Operation::MapScalar { op, value, .. } => Operation::MapScalar {
            op,
            ty,
            value: wide(value),
            count,
        },
        Operation::Clip { low, high, .. } => Operation::Clip {
            ty,
            low: wide(low),
            high: wide(high),
            count,
        },
        // These do not go by elements, or do not calculate.
        Operation::Fill { .. }
        | Operation::Reduce { .. }
        | Operation::Loss { .. }
        | Operation::Softmax { .. }
        | Operation::LayerNorm { .. }
        | Operation::Gemm { .. } => *operation,
    }
}

/// Bytes that take as long to pass as an element takes.
fn weight(operation: &Operation) -> usize {
    match operation {
        Operation::Map {
            op: MapOp::Abs | MapOp::Neg | MapOp::Relu,
            ..
        } => 8,
        Operation::Map { .. } => 64,
        Operation::MapBinary { op, .. } | Operation::MapScalar { op, .. }
            if matches!(op, BinaryOp::Pow | BinaryOp::Atan2) =>
        {
            128
        }
        Operation::MapBinary { .. }
        | Operation::MapScalar { .. }
        | Operation::Clip { .. }
        | Operation::Fill { .. }
        | Operation::Reduce { .. }
        | Operation::Loss { .. }
        | Operation::Softmax { .. }
        | Operation::LayerNorm { .. }
        | Operation::Gemm { .. } => 12,
    }
}

/// # Safety
/// As [`super::run`], after [`super::check`].
unsafe fn elementwise(operation: &Operation, spans: &[HostSpan], format: Format, count: usize) {
    let (_, operands) = operation.lengths();
    let at = |index: usize| Shared(spans[index.min(operands - 1)].ptr.cast::<u16>());
    let (dst, left, right) = (at(0), at(1), at(2));
    ranges(count, weight(operation), |range| {
        let (mut a, mut b) = ([0.0; CHUNK], [0.0; CHUNK]);
        for first in range.clone().step_by(CHUNK) {
            let len = CHUNK.min(range.end - first);
            // SAFETY: `run` was promised `count` elements of each; the ranges are disjoint, and a chunk is read
            // before it is written. The operation reads and writes `len` elements of the arrays.
            unsafe {
                if operands > 1 {
                    format.widen(left.at(first), &mut a[..len]);
                }
                if operands > 2 {
                    format.widen(right.at(first), &mut b[..len]);
                }
                let span = |array: &mut [f32; CHUNK]| HostSpan {
                    ptr: array.as_mut_ptr().cast(),
                    len: size_of_val(array),
                };
                let (a_span, b_span) = (span(&mut a), span(&mut b));
                let call = widened(operation, format, len);
                if dispatch::run::<f32>(&call, &[a_span, a_span, b_span]).is_err() {
                    return false;
                }
                format.narrow(&a[..len], dst.at(first));
            }
        }
        true
    });
}

/// Fold in `f32` of `count` elements, in a fixed order.
fn fold<F: Fold<f32>>(format: Format, src: *mut u16, count: usize, op: F) -> f32 {
    let src = Shared(src);
    let mut results = pieces(count, 4, op.empty(), |range| {
        let mut values = [0.0; CHUNK];
        let mut result = op.empty();
        for first in range.clone().step_by(CHUNK) {
            let len = CHUNK.min(range.end - first);
            // SAFETY: `run` was promised `count` elements.
            unsafe { format.widen(src.at(first), &mut values[..len]) };
            result = op.join(result, reduce::serial(values.as_ptr(), len, op));
        }
        result
    });
    pairs(&mut results, op)
}

/// Loss of `count` pairs; sums are held in `f64`.
fn mean_loss(
    format: Format,
    op: crate::LossOp,
    predicted: *mut u16,
    target: *mut u16,
    count: usize,
) -> f32 {
    let (predicted, target) = (Shared(predicted), Shared(target));
    let mut sums = pieces(count, 32, 0.0, |range| {
        let (mut p, mut t) = ([0.0; CHUNK], [0.0; CHUNK]);
        let mut sum = 0.0;
        for first in range.clone().step_by(CHUNK) {
            let len = CHUNK.min(range.end - first);
            // SAFETY: `run` was promised `count` elements of each.
            unsafe {
                format.widen(predicted.at(first), &mut p[..len]);
                format.widen(target.at(first), &mut t[..len]);
            }
            sum += loss::terms::<f32>(op, p.as_ptr(), t.as_ptr(), len);
        }
        sum
    });
    (pairs(&mut sums, reduce::Sum) / count as f64) as f32
}

/// Elements of rows in a half format.
struct F16;
/// `bf16`, with the functions of [`F16`].
struct Bf16;

macro_rules! stored {
    ($($name:ident $value:ident $bits:ident)*) => {$(
        impl rows::Stored for $name {
            type Raw = u16;
            type Value = f32;
            const EXACT: bool = false;

            #[inline(always)]
            fn value(raw: u16) -> f32 {
                $value(raw)
            }
            #[inline(always)]
            fn raw(value: f32) -> u16 {
                $bits(value)
            }
        }
    )*};
}
stored!(F16 f16_value f16_bits Bf16 bf16_value bf16_bits);
