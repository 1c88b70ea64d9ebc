//! Operations on whole buffers: as instructions of programs, and called directly.
//!
//! An [`IntrinsicCall`] names an operation, its element type, sizes and operands;
//! [`Backend::submit_intrinsic`](crate::Backend::submit_intrinsic) runs it.

mod call;
mod check;
pub mod host;
mod operand;

pub use call::IntrinsicCall;
pub use operand::{Operand, OperandUse, Operands};

#[cfg(test)]
mod tests;
