//! Whole-buffer operations on host memory: vector code chosen at run time, all cores for large sizes.
//!
//! Results do not depend on the number of threads. Functions of `f32` are rounded from a calculation in
//! `f64`, within 1 ULP; those of `f64` are within 4 ULP (`gelu` loses as many more as its cubic is
//! large), its `pow`, `atan2` and `erf` are the standard library's and `libm`'s. Halves are widened to
//! `f32`, calculated as those are (sums and products of matrices stay `f32`), and rounded once.

mod dispatch;
mod element;
pub mod expression;
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

use half::Format;

use crate::{BinaryOp, Operation, ReduceOp, Ty};

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
    // SAFETY: the caller's promises; types, lengths and alignment were checked.
    unsafe { unchecked(operation, spans) }
}

/// [`run`] without the checks.
///
/// # Safety
/// As [`run`], and [`check`] was passed.
unsafe fn unchecked(operation: &Operation, spans: &[HostSpan]) -> Result<(), HostError> {
    if let Some(format) = Format::of(operation.ty()) {
        if !matches!(operation, Operation::Fill { .. }) {
            // SAFETY: the caller's promises; types, lengths and alignment were checked.
            unsafe { half::run(operation, spans, format) };
            return Ok(());
        }
    }
    let ty = match signless(operation) {
        true => unsigned(operation.ty()),
        false => operation.ty(),
    };
    // SAFETY: the caller's promises; types, lengths and alignment were checked.
    unsafe {
        match ty {
            Ty::I8 => dispatch::ordered::<i8>(operation, spans),
            Ty::I16 => dispatch::ordered::<i16>(operation, spans),
            Ty::I32 => dispatch::ordered::<i32>(operation, spans),
            Ty::I64 => dispatch::ordered::<i64>(operation, spans),
            Ty::U8 => dispatch::wrapping::<u8>(operation, spans),
            Ty::U16 => dispatch::wrapping::<u16>(operation, spans),
            Ty::U32 => dispatch::wrapping::<u32>(operation, spans),
            Ty::U64 => dispatch::wrapping::<u64>(operation, spans),
            Ty::F32 => dispatch::float::<f32>(operation, spans),
            Ty::F64 => dispatch::float::<f64>(operation, spans),
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

/// Whether the bits of an integer result do not depend on the sign of the type.
fn signless(operation: &Operation) -> bool {
    match *operation {
        Operation::MapBinary { op, .. } | Operation::MapScalar { op, .. } => match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => true,
            BinaryOp::Div | BinaryOp::Min | BinaryOp::Max | BinaryOp::Pow | BinaryOp::Atan2 => {
                false
            }
        },
        Operation::Reduce { op, .. } => match op {
            ReduceOp::Sum | ReduceOp::Product => true,
            ReduceOp::Min | ReduceOp::Max => false,
        },
        Operation::Fill { .. } => true,
        Operation::Map { .. }
        | Operation::Clip { .. }
        | Operation::Loss { .. }
        | Operation::Softmax { .. }
        | Operation::LayerNorm { .. }
        | Operation::Gemm { .. } => false,
    }
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
