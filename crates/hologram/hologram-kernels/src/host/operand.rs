//! Operands in host memory, and what can be wrong with them.

use crate::Ty;

/// An operand's bytes in host memory.
#[derive(Clone, Copy, Debug)]
pub struct HostSpan {
    /// First byte, aligned to the element type.
    pub ptr: *mut u8,
    /// Bytes; at least those of the elements that `Operation::lengths` names.
    pub len: usize,
}

/// Errors of an operation, on host memory and on devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// Division of an integer by zero; what is written is then unspecified.
    #[error("division by zero")]
    DivisionByZero,
    /// A span that is missing or too short.
    #[error("operand {operand} has {len} bytes of {needed}")]
    TooShort {
        /// Number of the operand, 0 is written.
        operand: usize,
        /// Bytes that are used.
        needed: u64,
        /// Bytes there are.
        len: u64,
    },
    /// A span that does not begin at a multiple of its element's size.
    #[error("operand {operand} is not aligned to {size} bytes")]
    Misaligned {
        /// Number of the operand, 0 is written.
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
