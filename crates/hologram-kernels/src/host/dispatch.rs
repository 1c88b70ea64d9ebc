//! Which code runs an operation on elements of one type. Every operation is named at each place: a new one does not compile
//! before it has code.

use super::element::Element;
use super::loss::loss;
use super::{gemm, map, math, reduce, rows, unary, zip};
use super::{HostError, HostSpan};
use crate::{BinaryOp, MapOp, Operation, ReduceOp};

/// An operation that [`super::check`] should have refused for its type.
fn refused(operation: &Operation) -> HostError {
    HostError::Type {
        ty: operation.ty(),
        allowed: "those that `Operation::check_types` takes",
    }
}

/// Sums, products and fills, and what [`ordered`] does.
///
/// # Safety
/// As [`super::run`], after [`super::check`].
pub(super) unsafe fn wrapping<T: Element>(
    operation: &Operation,
    spans: &[HostSpan],
) -> Result<(), HostError> {
    let at = |index: usize| spans[index].ptr.cast::<T>();
    let binary = |op: BinaryOp, right: zip::Right<T>, count: u64| {
        let (dst, left, count) = (at(0), at(1).cast_const(), count as usize);
        match op {
            BinaryOp::Add => zip::zip(dst, left, right, count, zip::Add),
            BinaryOp::Sub => zip::zip(dst, left, right, count, zip::Sub),
            BinaryOp::Mul => zip::zip(dst, left, right, count, zip::Mul),
            BinaryOp::Div | BinaryOp::Min | BinaryOp::Max | BinaryOp::Pow | BinaryOp::Atan2 => {
                // SAFETY: the caller's promises.
                unsafe { ordered::<T>(operation, spans) }
            }
        }
    };
    match *operation {
        Operation::MapBinary { op, count, .. } => {
            binary(op, zip::Right::Each(at(2).cast_const()), count)
        }
        Operation::MapScalar {
            op, value, count, ..
        } => binary(op, zip::Right::All(T::from_low_bits(value)), count),
        Operation::Fill { value, count, .. } => {
            map::fill(at(0), T::from_low_bits(value), count as usize);
            Ok(())
        }
        Operation::Reduce { op, count, .. } => {
            let (src, count) = (at(1).cast_const(), count as usize);
            let result = match op {
                ReduceOp::Sum => reduce::reduce(src, count, reduce::Sum),
                ReduceOp::Product => reduce::reduce(src, count, reduce::Product),
                ReduceOp::Min | ReduceOp::Max => {
                    // SAFETY: the caller's promises.
                    return unsafe { ordered::<T>(operation, spans) };
                }
            };
            // SAFETY: one element of the written span.
            unsafe { at(0).write(result) };
            Ok(())
        }
        Operation::Map { .. }
        | Operation::Clip { .. }
        | Operation::Loss { .. }
        | Operation::Softmax { .. }
        | Operation::LayerNorm { .. }
        | Operation::Gemm { .. } => {
            // SAFETY: the caller's promises.
            unsafe { ordered::<T>(operation, spans) }
        }
    }
}

/// What depends on the sign: quotients and comparisons.
///
/// # Safety
/// As [`super::run`], after [`super::check`].
pub(super) unsafe fn ordered<T: Element>(
    operation: &Operation,
    spans: &[HostSpan],
) -> Result<(), HostError> {
    let at = |index: usize| spans[index].ptr.cast::<T>();
    let binary = |op: BinaryOp, right: zip::Right<T>, count: u64| {
        let (dst, left, count) = (at(0), at(1).cast_const(), count as usize);
        match op {
            BinaryOp::Div => zip::zip(dst, left, right, count, zip::Div),
            BinaryOp::Min => zip::zip(dst, left, right, count, zip::Min),
            BinaryOp::Max => zip::zip(dst, left, right, count, zip::Max),
            // Sums and products go to `wrapping`, powers and angles are of floats.
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Pow | BinaryOp::Atan2 => {
                Err(refused(operation))
            }
        }
    };
    match *operation {
        Operation::Map { op, count, .. } => {
            let (dst, src, count) = (at(0), at(1).cast_const(), count as usize);
            match op {
                MapOp::Abs => map::map(dst, src, count, unary::Abs),
                MapOp::Neg => map::map(dst, src, count, unary::Neg),
                MapOp::Relu => map::map(dst, src, count, unary::Relu),
                // These are of floats.
                MapOp::Exp
                | MapOp::Log
                | MapOp::Sqrt
                | MapOp::Rsqrt
                | MapOp::Sin
                | MapOp::Cos
                | MapOp::Tan
                | MapOp::Tanh
                | MapOp::Sigmoid
                | MapOp::Erf
                | MapOp::Ceil
                | MapOp::Floor
                | MapOp::Round
                | MapOp::Reciprocal
                | MapOp::Gelu => return Err(refused(operation)),
            }
        }
        Operation::MapBinary { op, count, .. } => {
            binary(op, zip::Right::Each(at(2).cast_const()), count)?;
        }
        Operation::MapScalar {
            op, value, count, ..
        } => binary(op, zip::Right::All(T::from_low_bits(value)), count)?,
        Operation::Clip {
            low, high, count, ..
        } => {
            let clip = unary::Clip {
                low: T::from_low_bits(low),
                high: T::from_low_bits(high),
            };
            map::map(at(0), at(1), count as usize, clip);
        }
        Operation::Reduce { op, count, .. } => {
            let (src, count) = (at(1).cast_const(), count as usize);
            let result = match op {
                ReduceOp::Min => reduce::reduce(src, count, reduce::Min),
                ReduceOp::Max => reduce::reduce(src, count, reduce::Max),
                // These go to `wrapping`.
                ReduceOp::Sum | ReduceOp::Product => return Err(refused(operation)),
            };
            // SAFETY: one element of the written span.
            unsafe { at(0).write(result) };
        }
        // Fills go to `wrapping`, losses, rows and matrices are of floats.
        Operation::Fill { .. }
        | Operation::Loss { .. }
        | Operation::Softmax { .. }
        | Operation::LayerNorm { .. }
        | Operation::Gemm { .. } => return Err(refused(operation)),
    }
    Ok(())
}

/// # Safety
/// As [`super::run`], after [`super::check`].
pub(super) unsafe fn float<T: math::Float>(
    operation: &Operation,
    spans: &[HostSpan],
) -> Result<(), HostError> {
    let at = |index: usize| spans[index].ptr.cast::<T>();
    let binary = |op: BinaryOp, right: zip::Right<T>, count: u64| {
        let (dst, left, count) = (at(0), at(1).cast_const(), count as usize);
        match op {
            BinaryOp::Pow => zip::zip(dst, left, right, count, zip::Pow),
            BinaryOp::Atan2 => zip::zip(dst, left, right, count, zip::Atan2),
            BinaryOp::Add
            | BinaryOp::Sub
            | BinaryOp::Mul
            | BinaryOp::Div
            | BinaryOp::Min
            | BinaryOp::Max => {
                // SAFETY: the caller's promises.
                unsafe { wrapping::<T>(operation, spans) }
            }
        }
    };
    match *operation {
        Operation::Map { op, count, .. } => {
            let (dst, src, count) = (at(0), at(1).cast_const(), count as usize);
            match op {
                // SAFETY: the caller's promises.
                MapOp::Abs | MapOp::Neg | MapOp::Relu => unsafe {
                    ordered::<T>(operation, spans)?;
                },
                MapOp::Exp => map::map(dst, src, count, unary::Exp),
                MapOp::Log => map::map(dst, src, count, unary::Log),
                MapOp::Sqrt => map::map(dst, src, count, unary::Sqrt),
                MapOp::Rsqrt => map::map(dst, src, count, unary::Rsqrt),
                MapOp::Sin => map::map(dst, src, count, unary::Sin),
                MapOp::Cos => map::map(dst, src, count, unary::Cos),
                MapOp::Tan => map::map(dst, src, count, unary::Tan),
                MapOp::Tanh => map::map(dst, src, count, unary::Tanh),
                MapOp::Sigmoid => map::map(dst, src, count, unary::Sigmoid),
                MapOp::Erf => map::map(dst, src, count, unary::Erf),
                MapOp::Ceil => map::map(dst, src, count, unary::Ceil),
                MapOp::Floor => map::map(dst, src, count, unary::Floor),
                MapOp::Round => map::map(dst, src, count, unary::Round),
                MapOp::Reciprocal => map::map(dst, src, count, unary::Reciprocal),
                MapOp::Gelu => map::map(dst, src, count, unary::Gelu),
            }
        }
        Operation::MapBinary { op, count, .. } => {
            binary(op, zip::Right::Each(at(2).cast_const()), count)?;
        }
        Operation::MapScalar {
            op, value, count, ..
        } => binary(op, zip::Right::All(T::from_low_bits(value)), count)?,
        Operation::Loss { op, count, .. } => {
            let result = loss(op, at(1).cast_const(), at(2).cast_const(), count as usize);
            // SAFETY: one element of the written span.
            unsafe { at(0).write(result) };
        }
        Operation::Softmax { rows, cols, .. } => {
            rows::softmax::<rows::Same<T>>(at(0), at(1), rows as usize, cols as usize);
        }
        Operation::LayerNorm {
            rows,
            cols,
            epsilon,
            ..
        } => {
            let scale = rows::Scale {
                gamma: at(2),
                beta: at(3),
                epsilon,
            };
            let (rows, cols) = (rows as usize, cols as usize);
            rows::layer_norm::<rows::Same<T>>(at(0), at(1), scale, rows, cols);
        }
        Operation::Gemm { m, n, k, .. } => {
            gemm::gemm(at(0), at(1), at(2), [m, n, k].map(|x| x as usize));
        }
        Operation::Clip { .. } | Operation::Fill { .. } | Operation::Reduce { .. } => {
            // SAFETY: the caller's promises.
            unsafe { wrapping::<T>(operation, spans)? }
        }
    }
    Ok(())
}
