//! Whole-buffer operations on host memory: vector code chosen at run time, all cores for large sizes.
//!
//! Results do not depend on the number of threads. Functions of `f32` are rounded from a calculation in
//! `f64`, within 1 ULP; those of `f64` are within 4 ULP (`gelu` loses as many more as its cubic is
//! large), its `pow`, `atan2` and `erf` are the standard library's and `libm`'s. Halves are widened to
//! `f32`, calculated as those are (sums and products of matrices stay `f32`), and rounded once.

mod element;
mod gemm;
mod half;
mod loss;
mod map;
mod math;
mod math_single;
mod parallel;
mod reduce;
mod rows;
#[cfg(test)]
mod tests;
mod unary;
mod vector;
mod zip;

use element::Element;
use half::Format;
use loss::loss;

use crate::{BinaryOp, MapOp, Operation, ReduceOp, Ty};

/// An operand's bytes in host memory.
#[derive(Clone, Copy, Debug)]
pub struct HostSpan {
    /// First byte, aligned to the element type.
    pub ptr: *mut u8,
    /// Bytes; at least those of the elements that [`Operation::lengths`] names.
    pub len: usize,
}

/// What stops an operation, on host memory and on devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// Division of an integer by zero; what is written is then unspecified.
    #[error("division by zero")]
    DivisionByZero,
    /// A span that is missing or too short.
    #[error("operand {operand} has {len} bytes of {needed}")]
    TooShort {
        /// Which operand, 0 is written.
        operand: usize,
        /// Bytes that are used.
        needed: u64,
        /// Bytes there are.
        len: u64,
    },
    /// A span that does not begin at a multiple of its element's size.
    #[error("operand {operand} is not aligned to {size} bytes")]
    Misaligned {
        /// Which operand, 0 is written.
        operand: usize,
        /// Bytes of an element.
        size: usize,
    },
    /// A type that the operation does not work on.
    #[error("type {ty} is not allowed, only {allowed}")]
    Type {
        /// The type.
        ty: Ty,
        /// The allowed ones, in words.
        allowed: &'static str,
    },
}

/// Runs an operation on host memory: `spans` are its operands, the written one first.
///
/// # Errors
/// Every [`HostError`]; nothing is written unless it is a division by zero.
///
/// # Safety
/// Each span is valid for reads and the first one for writes; nobody else writes any of them or reads
/// the first during the call. The first may be exactly another one in elementwise operations and the
/// first that is read of row operations, may overlap in reductions and losses, and must not elsewhere.
pub unsafe fn run(operation: &Operation, spans: &[HostSpan]) -> Result<(), HostError> {
    check(operation, |index| {
        let span = spans.get(index)?;
        Some((span.ptr as usize, span.len as u64))
    })?;
    if let Some(format) = Format::of(operation.ty()) {
        if !matches!(operation, Operation::Fill { .. }) {
            // SAFETY: the caller's promises; types, lengths and alignment were checked.
            unsafe { half::run(operation, spans, format) };
            return Ok(());
        }
    }
    let ty = match operation {
        Operation::MapBinary { op, ty, .. } | Operation::MapScalar { op, ty, .. }
            if matches!(op, BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul) =>
        {
            unsigned(*ty)
        }
        Operation::Reduce {
            op: ReduceOp::Sum | ReduceOp::Product,
            ty,
            ..
        }
        | Operation::Fill { ty, .. } => unsigned(*ty),
        _ => operation.ty(),
    };
    // SAFETY: the caller's promises; types, lengths and alignment were checked.
    unsafe {
        match ty {
            Ty::I8 => ordered::<i8>(operation, spans),
            Ty::I16 => ordered::<i16>(operation, spans),
            Ty::I32 => ordered::<i32>(operation, spans),
            Ty::I64 => ordered::<i64>(operation, spans),
            Ty::U8 => wrapping::<u8>(operation, spans),
            Ty::U16 => wrapping::<u16>(operation, spans),
            Ty::U32 => wrapping::<u32>(operation, spans),
            Ty::U64 => wrapping::<u64>(operation, spans),
            Ty::F32 => float::<f32>(operation, spans),
            Ty::F64 => float::<f64>(operation, spans),
            // Filled as `u16`, else `half::run`.
            Ty::F16 | Ty::Bf16 => Ok(()),
        }
    }
}

/// Checks types and operands: `operand` gives the address and the bytes of each, `None` if it is missing.
///
/// # Errors
/// All but divisions by zero.
pub(crate) fn check(
    operation: &Operation,
    operand: impl Fn(usize) -> Option<(usize, u64)>,
) -> Result<(), HostError> {
    operation
        .check_types()
        .map_err(|(ty, allowed)| HostError::Type { ty, allowed })?;
    let size = operation.ty().size();
    let (lengths, count) = operation.lengths();
    for (index, elements) in lengths[..count].iter().enumerate() {
        let needed = elements.saturating_mul(size as u64);
        let (address, _) = operand(index)
            .filter(|&(_, len)| needed <= len)
            .ok_or_else(|| HostError::TooShort {
                operand: index,
                needed,
                len: operand(index).map_or(0, |(_, len)| len),
            })?;
        if !address.is_multiple_of(size) {
            return Err(HostError::Misaligned {
                operand: index,
                size,
            });
        }
    }
    Ok(())
}

/// The type with the same sums and products.
fn unsigned(ty: Ty) -> Ty {
    match ty {
        Ty::I8 => Ty::U8,
        Ty::I16 => Ty::U16,
        Ty::I32 => Ty::U32,
        Ty::I64 => Ty::U64,
        Ty::F16 | Ty::Bf16 => Ty::U16,
        ty => ty,
    }
}

/// Sums, products and fills, and what [`ordered`] does.
///
/// # Safety
/// As [`run`], after [`check`].
unsafe fn wrapping<T: Element>(operation: &Operation, spans: &[HostSpan]) -> Result<(), HostError> {
    let at = |index: usize| spans[index].ptr.cast::<T>();
    let binary = |op: BinaryOp, right: zip::Right<T>, count: u64| {
        let (dst, left, count) = (at(0), at(1).cast_const(), count as usize);
        match op {
            BinaryOp::Add => zip::zip(dst, left, right, count, zip::Add),
            BinaryOp::Sub => zip::zip(dst, left, right, count, zip::Sub),
            _ => zip::zip(dst, left, right, count, zip::Mul),
        }
    };
    match *operation {
        Operation::MapBinary {
            op: op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul),
            count,
            ..
        } => binary(op, zip::Right::Each(at(2).cast_const()), count),
        Operation::MapScalar {
            op: op @ (BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul),
            value,
            count,
            ..
        } => binary(op, zip::Right::All(T::from_low_bits(value)), count),
        Operation::Fill { value, count, .. } => {
            map::fill(at(0), T::from_low_bits(value), count as usize);
            Ok(())
        }
        Operation::Reduce {
            op: op @ (ReduceOp::Sum | ReduceOp::Product),
            count,
            ..
        } => {
            let (src, count) = (at(1).cast_const(), count as usize);
            let result = match op {
                ReduceOp::Sum => reduce::reduce(src, count, reduce::Sum),
                _ => reduce::reduce(src, count, reduce::Product),
            };
            // SAFETY: one element of the written span.
            unsafe { at(0).write(result) };
            Ok(())
        }
        // SAFETY: the caller's promises.
        _ => unsafe { ordered::<T>(operation, spans) },
    }
}

/// What depends on the sign: quotients and comparisons.
///
/// # Safety
/// As [`run`], after [`check`].
unsafe fn ordered<T: Element>(operation: &Operation, spans: &[HostSpan]) -> Result<(), HostError> {
    let at = |index: usize| spans[index].ptr.cast::<T>();
    let binary = |op: BinaryOp, right: zip::Right<T>, count: u64| {
        let (dst, left, count) = (at(0), at(1).cast_const(), count as usize);
        match op {
            BinaryOp::Min => zip::zip(dst, left, right, count, zip::Min),
            BinaryOp::Max => zip::zip(dst, left, right, count, zip::Max),
            // Sums and products went to `wrapping`, powers and angles are of floats.
            _ => zip::zip(dst, left, right, count, zip::Div),
        }
    };
    match *operation {
        Operation::Map { op, count, .. } => {
            let (dst, src, count) = (at(0), at(1).cast_const(), count as usize);
            match op {
                MapOp::Abs => map::map(dst, src, count, unary::Abs),
                MapOp::Neg => map::map(dst, src, count, unary::Neg),
                // The others are of floats.
                _ => map::map(dst, src, count, unary::Relu),
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
                // Sums and products went to `wrapping`.
                _ => reduce::reduce(src, count, reduce::Max),
            };
            // SAFETY: one element of the written span.
            unsafe { at(0).write(result) };
        }
        // Fills went to `wrapping`, rows and matrices are of floats.
        _ => {}
    }
    Ok(())
}

/// # Safety
/// As [`run`], after [`check`].
unsafe fn float<T: math::Float>(
    operation: &Operation,
    spans: &[HostSpan],
) -> Result<(), HostError> {
    let at = |index: usize| spans[index].ptr.cast::<T>();
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
        Operation::MapBinary {
            op: op @ (BinaryOp::Pow | BinaryOp::Atan2),
            count,
            ..
        } => {
            let right = zip::Right::Each(at(2).cast_const());
            zip::float(op, at(0), at(1), right, count as usize)?;
        }
        Operation::MapScalar {
            op: op @ (BinaryOp::Pow | BinaryOp::Atan2),
            value,
            count,
            ..
        } => {
            let right = zip::Right::All(T::from_low_bits(value));
            zip::float(op, at(0), at(1), right, count as usize)?;
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
                epsilon,
            };
            let (rows, cols) = (rows as usize, cols as usize);
            rows::layer_norm::<rows::Same<T>>(at(0), at(1), scale, rows, cols);
        }
        Operation::Gemm { m, n, k, .. } => {
            gemm::gemm(at(0), at(1), at(2), [m, n, k].map(|x| x as usize));
        }
        // SAFETY: the caller's promises.
        _ => unsafe { wrapping::<T>(operation, spans)? },
    }
    Ok(())
}
