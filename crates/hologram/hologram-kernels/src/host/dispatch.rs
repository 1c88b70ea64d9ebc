//! Choice of the code for an operation on elements of one type. Every operation is named, so that a new one does not compile before
//! it has code.

use super::element::Element;
use super::loss::loss;
use super::operand::{HostError, HostSpan};
use super::{gemm, map, reduce, rows, unary, zip};
use crate::{BinaryOp, Constant, MapOp, Operation, ReduceOp};

/// A type whose operations have code.
pub(super) trait Table: Element {
    /// Operations that only floats have.
    ///
    /// # Safety
    /// As [`super::run`], after [`super::check`].
    unsafe fn float(operation: &Operation, spans: &[HostSpan]) -> Result<(), HostError>;
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl Table for $ty {
            unsafe fn float(operation: &Operation, _: &[HostSpan]) -> Result<(), HostError> {
                Err(refused(operation))
            }
        }
    )*};
}
integers!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! floats {
    ($($ty:ty)*) => {$(
        impl Table for $ty {
            unsafe fn float(operation: &Operation, spans: &[HostSpan]) -> Result<(), HostError> {
                // SAFETY: the caller's promises.
                unsafe { float::<Self>(operation, spans) }
            }
        }
    )*};
}
floats!(f32 f64);

/// An operation that [`super::check`] should have refused for its type.
fn refused(operation: &Operation) -> HostError {
    HostError::Type {
        ty: operation.ty(),
        allowed: "those that `Operation::check_types` takes",
    }
}

/// The right operand of an elementwise operation of two: a constant, or the last span.
fn right<T: Element>(operation: &Operation, spans: &[HostSpan]) -> zip::Right<T> {
    let bits = operation
        .constants()
        .into_iter()
        .find_map(|constant| match constant {
            Constant::Bits(bits) => Some(bits),
            Constant::Count(_) | Constant::Extent(_) | Constant::Tolerance(_) => None,
        });
    match bits {
        Some(bits) => zip::Right::All(T::from_low_bits(bits)),
        None => zip::Right::Each(spans[2].ptr.cast::<T>().cast_const()),
    }
}

/// Operations that all types have; the rest is [`Table::float`].
///
/// # Safety
/// As [`super::run`], after [`super::check`].
pub(super) unsafe fn run<T: Table>(
    operation: &Operation,
    spans: &[HostSpan],
) -> Result<(), HostError> {
    let at = |index: usize| spans[index].ptr.cast::<T>();
    match *operation {
        Operation::MapBinary { op, count, .. } | Operation::MapScalar { op, count, .. } => {
            let (dst, left, count) = (at(0), at(1).cast_const(), count as usize);
            let right = right::<T>(operation, spans);
            match op {
                BinaryOp::Add => zip::zip(dst, left, right, count, zip::Add),
                BinaryOp::Sub => zip::zip(dst, left, right, count, zip::Sub),
                BinaryOp::Mul => zip::zip(dst, left, right, count, zip::Mul),
                BinaryOp::Div => zip::zip(dst, left, right, count, zip::Div),
                BinaryOp::Min => zip::zip(dst, left, right, count, zip::Min),
                BinaryOp::Max => zip::zip(dst, left, right, count, zip::Max),
                // SAFETY: the caller's promises.
                BinaryOp::Pow | BinaryOp::Atan2 => unsafe { T::float(operation, spans) },
            }
        }
        Operation::Map { op, count, .. } => {
            let (dst, src, count) = (at(0), at(1).cast_const(), count as usize);
            match op {
                MapOp::Abs => map::map(dst, src, count, unary::Abs),
                MapOp::Neg => map::map(dst, src, count, unary::Neg),
                MapOp::Relu => map::map(dst, src, count, unary::Relu),
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
                // SAFETY: the caller's promises.
                | MapOp::Gelu => return unsafe { T::float(operation, spans) },
            }
            Ok(())
        }
        Operation::Clip {
            low, high, count, ..
        } => {
            let clip = unary::Clip {
                low: T::from_low_bits(low),
                high: T::from_low_bits(high),
            };
            map::map(at(0), at(1), count as usize, clip);
            Ok(())
        }
        Operation::Fill { value, count, .. } => {
            map::fill(at(0), T::from_low_bits(value), count as usize);
            Ok(())
        }
        Operation::Reduce { op, count, .. } => {
            let (src, count) = (at(1).cast_const(), count as usize);
            let result = match op {
                ReduceOp::Sum => reduce::reduce(src, count, reduce::Sum),
                ReduceOp::Product => reduce::reduce(src, count, reduce::Product),
                ReduceOp::Min => reduce::reduce(src, count, reduce::Min),
                ReduceOp::Max => reduce::reduce(src, count, reduce::Max),
            };
            // SAFETY: one element of the written span.
            unsafe { at(0).write(result) };
            Ok(())
        }
        Operation::Loss { .. }
        | Operation::Softmax { .. }
        | Operation::LayerNorm { .. }
        // SAFETY: the caller's promises.
        | Operation::Gemm { .. } => unsafe { T::float(operation, spans) },
    }
}

/// # Safety
/// As [`super::run`], after [`super::check`].
unsafe fn float<T: gemm::Product>(
    operation: &Operation,
    spans: &[HostSpan],
) -> Result<(), HostError> {
    let at = |index: usize| spans[index].ptr.cast::<T>();
    match *operation {
        Operation::Map { op, count, .. } => {
            let (dst, src, count) = (at(0), at(1).cast_const(), count as usize);
            match op {
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
                MapOp::Abs | MapOp::Neg | MapOp::Relu => return Err(refused(operation)),
            }
        }
        Operation::MapBinary { op, count, .. } | Operation::MapScalar { op, count, .. } => {
            let (dst, left, count) = (at(0), at(1).cast_const(), count as usize);
            let right = right::<T>(operation, spans);
            return match op {
                BinaryOp::Pow => zip::zip(dst, left, right, count, zip::Pow),
                BinaryOp::Atan2 => zip::zip(dst, left, right, count, zip::Atan2),
                BinaryOp::Add
                | BinaryOp::Sub
                | BinaryOp::Mul
                | BinaryOp::Div
                | BinaryOp::Min
                | BinaryOp::Max => Err(refused(operation)),
            };
        }
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
                epsilon: epsilon.value(),
            };
            let (rows, cols) = (rows as usize, cols as usize);
            rows::layer_norm::<rows::Same<T>>(at(0), at(1), scale, rows, cols);
        }
        Operation::Gemm { m, n, k, .. } => {
            gemm::gemm(at(0), at(1), at(2), [m, n, k].map(|x| x as usize));
        }
        Operation::Clip { .. } | Operation::Fill { .. } | Operation::Reduce { .. } => {
            return Err(refused(operation));
        }
    }
    Ok(())
}
