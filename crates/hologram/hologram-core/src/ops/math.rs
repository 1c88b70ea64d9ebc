//! Element-wise arithmetic.

use hologram_backends::{BinaryOp, MapOp};

use super::raw;
use crate::buffer::Buffer;
use crate::element::{Float, Number, Signed};
use crate::error::Result;
use crate::executor::Executor;

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident $op:ident $bound:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// Buffers that are too short or of another executor.
        pub fn $name<T: $bound>(
            exec: &Executor,
            a: &Buffer<T>,
            b: &Buffer<T>,
            c: &Buffer<T>,
            n: usize,
        ) -> Result<()> {
            raw::map2(exec, BinaryOp::$op, a.span(), b.span(), c.span(), n)
        }
    )*};
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident $op:ident $bound:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// Buffers that are too short or of another executor.
        pub fn $name<T: $bound>(exec: &Executor, a: &Buffer<T>, c: &Buffer<T>, n: usize) -> Result<()> {
            raw::map(exec, MapOp::$op, a.span(), c.span(), n)
        }
    )*};
}

macro_rules! scalar {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// Buffers that are too short or of another executor.
        pub fn $name<T: Number>(
            exec: &Executor,
            a: &Buffer<T>,
            c: &Buffer<T>,
            scalar: T,
            n: usize,
        ) -> Result<()> {
            raw::map_scalar(exec, BinaryOp::$op, a.span(), c.span(), scalar.to_bits64(), n)
        }
    )*};
}

binary! {
    /// `c` = `a` + `b`; integers wrap.
    vector_add Add Number;
    /// `c` = `a` - `b`; integers wrap.
    vector_sub Sub Number;
    /// `c` = `a` * `b`; integers wrap.
    vector_mul Mul Number;
    /// `c` = `a` / `b`; integers truncate, and dividing one by zero is a fault.
    vector_div Div Number;
    /// `c` = the smaller; a NaN yields the other.
    min Min Number;
    /// `c` = the larger; a NaN yields the other.
    max Max Number;
    /// `c` = `a` to the `b`.
    pow Pow Float;
    /// `c` = angle of the point (`b`, `a`).
    atan2 Atan2 Float;
}

unary! {
    /// `c` = |`a`|; the minimum integer stays.
    abs Abs Signed;
    /// `c` = -`a`; the minimum integer stays.
    neg Neg Signed;
    /// `c` = max(`a`, 0); NaN gives 0.
    relu Relu Number;
    /// `c` = e to the `a`.
    exp Exp Float;
    /// `c` = natural logarithm of `a`.
    log Log Float;
    /// `c` = square root of `a`.
    sqrt Sqrt Float;
    /// `c` = 1 / square root of `a`.
    rsqrt Rsqrt Float;
    /// `c` = sine of `a`.
    sin Sin Float;
    /// `c` = cosine of `a`.
    cos Cos Float;
    /// `c` = tangent of `a`.
    tan Tan Float;
    /// `c` = error function of `a`.
    erf Erf Float;
    /// `c` = `a` rounded towards plus infinity.
    ceil Ceil Float;
    /// `c` = `a` rounded towards minus infinity.
    floor Floor Float;
    /// `c` = `a` rounded to the nearest, halves to even.
    round Round Float;
    /// `c` = 1 / `a`.
    reciprocal Reciprocal Float;
}

scalar! {
    /// `c` = `a` + `scalar`.
    scalar_add Add;
    /// `c` = `a` - `scalar`.
    scalar_sub Sub;
    /// `c` = `a` * `scalar`.
    scalar_mul Mul;
    /// `c` = `a` / `scalar`; an integer `scalar` of zero is a fault.
    scalar_div Div;
}

/// `c` = `low` where `a` is less, else `high` where it is greater, else `a`; NaN stays.
///
/// # Errors
/// Buffers that are too short or of another executor.
pub fn clip<T: Number>(
    exec: &Executor,
    a: &Buffer<T>,
    c: &Buffer<T>,
    low: T,
    high: T,
    n: usize,
) -> Result<()> {
    let bounds = (low.to_bits64(), high.to_bits64());
    raw::clip(exec, a.span(), c.span(), bounds, n)
}
