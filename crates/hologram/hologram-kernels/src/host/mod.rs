//! Whole-buffer operations on host memory: vector code chosen at run time, all cores for large sizes.
//!
//! Results do not depend on the number of threads. Functions of `f32` are within 1 ULP, all but `exp` rounded from a calculation in
//! `f64`; those of `f64` are within 4 ULP (`gelu` loses as many more as its cubic is
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
mod operand;
mod parallel;
mod reduce;
mod rows;
pub mod sort;
#[cfg(test)]
mod tests;
mod unary;
mod vector;
mod zip;

pub use operand::{HostError, HostSpan};

use half::Format;

use crate::{Operation, Ty};

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
    // SAFETY: the caller's promises; types, lengths and alignment were checked.
    unsafe {
        match operation.ty() {
            Ty::I8 => dispatch::run::<i8>(operation, spans),
            Ty::I16 => dispatch::run::<i16>(operation, spans),
            Ty::I32 => dispatch::run::<i32>(operation, spans),
            Ty::I64 => dispatch::run::<i64>(operation, spans),
            Ty::U8 => dispatch::run::<u8>(operation, spans),
            // Halves are filled by their bits.
            Ty::U16 | Ty::F16 | Ty::Bf16 => dispatch::run::<u16>(operation, spans),
            Ty::U32 => dispatch::run::<u32>(operation, spans),
            Ty::U64 => dispatch::run::<u64>(operation, spans),
            Ty::F32 => dispatch::run::<f32>(operation, spans),
            Ty::F64 => dispatch::run::<f64>(operation, spans),
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
