//! Errors of the core as the exceptions of `hologram.errors`.

use hologram_backends::{BackendError, FaultKind};
use hologram_core::Error;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyModule;

use crate::names;

/// `Result` of the core, raised.
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: Into<Error>> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| raise(&error.into()))
    }
}

/// An exception of `hologram.errors` with a message.
pub fn exception(class: &str, message: String) -> PyErr {
    Python::attach(|py| make(py, class, message).map_or_else(|failure| failure, PyErr::from_value))
}

fn make<'py>(py: Python<'py>, class: &str, message: String) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE
        .get_or_try_init(py, || py.import("hologram.errors").map(Bound::unbind))?
        .bind(py);
    module.getattr(class)?.call1((message,))
}

fn raise(error: &Error) -> PyErr {
    Python::attach(|py| {
        let raised = make(py, class_of(error), message(error)).and_then(|value| {
            if let Error::Backend(backend) = error {
                add_place(&value, backend)?;
            }
            Ok(value)
        });
        raised.map_or_else(|failure| failure, PyErr::from_value)
    })
}

/// Message of an error, with Python's names of the types.
fn message(error: &Error) -> String {
    match *error {
        Error::TypeMismatch {
            argument,
            expected,
            actual,
        } => {
            let (expected, actual) = (names::name(expected), names::name(actual));
            format!("{argument}: elements are {actual}, {expected} expected")
        }
        ref other => other.to_string(),
    }
}

/// Adds the place in a program to an exception.
fn add_place(value: &Bound<'_, PyAny>, error: &BackendError) -> PyResult<()> {
    match error {
        BackendError::Fault(fault) => {
            value.setattr("lane", fault.lane)?;
            value.setattr("pc", fault.pc)?;
            value.setattr("instruction", &fault.instruction)
        }
        BackendError::UnsupportedInstruction {
            pc, instruction, ..
        } => {
            value.setattr("pc", pc)?;
            value.setattr("instruction", instruction)
        }
        _ => Ok(()),
    }
}

fn class_of(error: &Error) -> &'static str {
    match error {
        Error::Backend(error) => class_of_backend(error),
        Error::BackendUnavailable { .. } => "BackendUnavailableError",
        Error::TypeMismatch { .. } | Error::UnsupportedType { .. } => "DTypeError",
        Error::BufferTooSmall { .. }
        | Error::LengthMismatch { .. }
        | Error::InvalidShape(_)
        | Error::InvalidView(_) => "ShapeError",
        Error::TooLarge { .. } => "OutOfMemoryError",
        _ => "ArgumentError",
    }
}

fn class_of_backend(error: &BackendError) -> &'static str {
    use BackendError as B;
    match error {
        B::OutOfMemory { .. } => "OutOfMemoryError",
        B::Program(_) | B::Validation(_) => "ProgramError",
        B::Fault(fault) => match fault.kind {
            FaultKind::TimeLimitExceeded { .. } => "TimeLimitError",
            _ => "FaultError",
        },
        B::InvalidLaunchConfig { .. } | B::SharedMemoryAllocationFailed { .. } => "LaunchError",
        B::UnsupportedInstruction { .. } | B::UnsupportedOperation(_) => "UnsupportedError",
        B::InvalidIntrinsic { .. } => "DTypeError",
        B::BufferOutOfBounds { .. } | B::PoolOutOfBounds { .. } | B::OverlappingCopy { .. } => {
            "ShapeError"
        }
        B::NoCompiler(_) | B::KernelFolder(_) | B::Compilation(_) | B::CompilationLimit(_) => {
            "CompilationError"
        }
        _ => "DeviceError",
    }
}
