//! Errors of this crate.

use hologram_backends::{BackendError, ProgramError, Ty};

use crate::backend_type::BackendType;

/// Result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of an executor, a buffer, a tensor or an operation.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The backend's own error: memory, a program's fault, the device.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A backend that this machine does not have.
    #[error("no {backend} backend here: {reason}")]
    BackendUnavailable {
        /// The requested backend.
        backend: BackendType,
        /// Reason why it is missing.
        reason: String,
    },
    /// A buffer with fewer elements than the operation uses.
    #[error("{argument}: {needed} elements needed, the buffer has {len}")]
    BufferTooSmall {
        /// Name of the parameter.
        argument: &'static str,
        /// Elements needed.
        needed: usize,
        /// Elements there are.
        len: usize,
    },
    /// A slice of another length than the buffer or range.
    #[error("{argument}: {actual} elements given, {expected} expected")]
    LengthMismatch {
        /// Name of the parameter.
        argument: &'static str,
        /// Elements expected.
        expected: usize,
        /// Elements given.
        actual: usize,
    },
    /// A buffer of another element type than expected.
    #[error("{argument}: elements are {actual}, {expected} expected")]
    TypeMismatch {
        /// Name of the parameter.
        argument: &'static str,
        /// Type expected.
        expected: Ty,
        /// Type of the buffer.
        actual: Ty,
    },
    /// An operation that is not defined for a type.
    #[error("{operation} is not defined for {ty}, only for {allowed}")]
    UnsupportedType {
        /// Name of the operation.
        operation: &'static str,
        /// Type asked for.
        ty: Ty,
        /// Types allowed.
        allowed: &'static str,
    },
    /// A buffer of another executor.
    #[error("{argument}: the buffer belongs to another executor")]
    ForeignBuffer {
        /// Name of the parameter.
        argument: &'static str,
    },
    /// Output and input share memory where the operation does not allow it.
    #[error("{output}: shares memory with {input}, which is read meanwhile; give it a buffer of its own")]
    Aliased {
        /// Name of the output.
        output: &'static str,
        /// Name of the input.
        input: &'static str,
    },
    /// A size that does not fit.
    #[error("{what}: {elements} elements are too many")]
    TooLarge {
        /// The requested feature.
        what: &'static str,
        /// Elements.
        elements: u128,
    },
    /// A boundary class from 96 on, or one that a live buffer holds.
    #[error("boundary class {class}: {reason}")]
    InvalidClass {
        /// The class.
        class: u8,
        /// Reason why it cannot be given.
        reason: &'static str,
    },
    /// Shapes that do not fit each other or the data.
    #[error("shape: {0}")]
    InvalidShape(String),
    /// A view that reaches outside its tensor.
    #[error("view: {0}")]
    InvalidView(String),
    /// An argument outside its range.
    #[error("{argument}: {reason}")]
    InvalidArgument {
        /// Name of the parameter.
        argument: &'static str,
        /// Description of the fault.
        reason: String,
    },
}

impl From<ProgramError> for Error {
    fn from(error: ProgramError) -> Self {
        Self::Backend(error.into())
    }
}
