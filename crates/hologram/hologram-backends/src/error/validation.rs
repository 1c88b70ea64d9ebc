//! Errors of the validator.

use crate::isa::{Predicate, Register, Ty};
use crate::program::Program;

/// An instruction that the validator rejects.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pc {pc} (`{instruction}`): {kind}")]
pub struct ValidationError {
    /// Index of the instruction.
    pub pc: usize,
    /// The text.
    pub instruction: String,
    /// Kind of the error.
    pub kind: ValidationErrorKind,
}

/// Errors of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValidationErrorKind {
    /// The label is not bound, or past the end.
    #[error("label @{0} is not bound to an instruction or to the end")]
    UndefinedLabel(String),
    /// The instruction does not work on this type.
    #[error("type {ty}, allowed are {allowed}")]
    UnsupportedType {
        /// The type.
        ty: Ty,
        /// The allowed ones.
        allowed: &'static str,
    },
    /// The register is read before every path to here has written it.
    #[error("{0} is not initialised on every path")]
    UninitializedRegister(Register),
    /// The predicate is read before every path to here has written it.
    #[error("{0} is not initialised on every path")]
    UninitializedPredicate(Predicate),
    /// The register holds another type.
    #[error("{register} holds {actual}, read as {expected}")]
    TypeMismatch {
        /// The register.
        register: Register,
        /// Type it is read as.
        expected: Ty,
        /// Type it was last written as.
        actual: Ty,
    },
    /// The register holds different types on different paths.
    #[error("{register} holds different types on different paths, read as {expected}")]
    AmbiguousType {
        /// The register.
        register: Register,
        /// Type it is read as.
        expected: Ty,
    },
    /// The fold reaches past `r255`.
    #[error("registers {base} and {count} in all: past r255")]
    ReduceRange {
        /// First register.
        base: Register,
        /// Number of registers.
        count: u32,
    },
    /// The chain of calls is longer than a lane may hold.
    #[error("nested calls of depth {depth}, at most 256")]
    CallDepth {
        /// Depth of the longest chain through this call.
        depth: usize,
    },
    /// The coordinate is outside the boundary pool, or the access leaves its class.
    #[error("class {class}, page {page}, byte {byte}: {size} bytes there are not within a class")]
    BoundaryCoordinates {
        /// The class.
        class: u8,
        /// The page.
        page: u8,
        /// The byte.
        byte: u8,
        /// Bytes of the access.
        size: usize,
    },
    /// Shared memory has no boundary coordinates.
    #[error("shared memory is not addressed by boundary coordinates")]
    SharedPhi,
    /// The constant must be finite and not negative.
    #[error("epsilon {0} is not finite and at least 0")]
    Epsilon(String),
    /// A whole-buffer instruction in a launch of many lanes.
    #[error("a launch of {lanes} lanes: whole-buffer instructions run in launches of one lane")]
    IntrinsicLanes {
        /// Lanes of the launch.
        lanes: u64,
    },
    /// More routines, or more loops within loops, than the validator follows.
    #[error("too many called routines or nested loops to follow every register")]
    TooComplex,
    /// A size of a whole-buffer instruction is 0 or their product does not fit.
    #[error("sizes must be at least 1 and their products fit 63 bits")]
    IntrinsicSize,
}

/// An error at an instruction of a program.
pub(crate) fn at(program: &Program, pc: usize, kind: ValidationErrorKind) -> ValidationError {
    let instruction = program.instructions().get(pc);
    ValidationError {
        pc,
        instruction: instruction.map(ToString::to_string).unwrap_or_default(),
        kind,
    }
}
