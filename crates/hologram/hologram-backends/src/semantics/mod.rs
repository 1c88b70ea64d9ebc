//! Semantics of every instruction on single values: pure functions, one meaning on every device.
//!
//! A value is one of the twelve Rust types that implement [`Scalar`]; traits group what is defined on
//! which types as the legality table does: [`Arithmetic`] on integers, `f32` and `f64`, [`Signed`] on
//! the signed ones of these, [`Integer`], [`Float`]. [`convert()`] is defined on all pairs.

mod compare;
mod convert;
mod float;
mod integer;
mod scalar;

pub use compare::compare;
pub use convert::convert;
pub use float::Float;
pub use integer::Integer;
pub use scalar::{Arithmetic, Scalar, Signed, Wide};
