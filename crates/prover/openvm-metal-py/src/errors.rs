//! Errors of the SDK as the exceptions of `openvm_metal.errors`.

use openvm_metal_backend::MetalProverError;
use openvm_metal_common::MetalError;
use openvm_metal_sdk::{engine::EngineError, SdkError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyModule;

/// Turns a `Result` of the SDK into Python's.
pub trait OrRaise<T> {
    /// The value, or the exception.
    fn or_raise(self) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, SdkError> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| raise(&error))
    }
}

/// An exception of `openvm_metal.errors` with a message.
pub fn exception(class: &str, message: String) -> PyErr {
    Python::attach(|py| make(py, class, message).map_or_else(|failure| failure, PyErr::from_value))
}

fn make<'py>(py: Python<'py>, class: &str, message: String) -> PyResult<Bound<'py, PyAny>> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module = MODULE
        .get_or_try_init(py, || py.import("openvm_metal.errors").map(Bound::unbind))?
        .bind(py);
    module.getattr(class)?.call1((message,))
}

/// The exception of an error.
pub fn raise(error: &SdkError) -> PyErr {
    Python::attach(|py| {
        let raised = make(py, class_of(error), error.to_string()).and_then(|value| {
            if let SdkError::GuestExit { code, .. } = error {
                value.setattr("exit_code", code)?;
            }
            if let (Some(pc), "GuestError" | "InputError") = (error.pc(), class_of(error)) {
                value.setattr("pc", pc)?;
            }
            Ok(value)
        });
        raised.map_or_else(|failure| failure, PyErr::from_value)
    })
}

fn class_of(error: &SdkError) -> &'static str {
    match error {
        SdkError::Config(_) | SdkError::ForeignConfig { .. } => "ConfigError",
        SdkError::File { .. } | SdkError::Write { .. } => "FileError",
        SdkError::Bytes { .. } => "DataError",
        SdkError::Elf(_) | SdkError::UnknownInstruction { .. } | SdkError::Executable(_) => {
            "ProgramError"
        }
        SdkError::InputExhausted { .. } => "InputError",
        SdkError::GuestExit { .. }
        | SdkError::GuestPanic { .. }
        | SdkError::GuestFault { .. }
        | SdkError::Execution { .. } => "GuestError",
        SdkError::InstructionBound { .. } => "InstructionBoundError",
        SdkError::Engine { source, .. } => class_of_engine(source),
        SdkError::HostMemory { .. } | SdkError::OutOfMemory { .. } => "OutOfMemoryError",
        SdkError::Disagreement { .. } => "DeviceError",
        SdkError::ForeignKey { .. } | SdkError::Key { .. } => "ForeignKeyError",
        SdkError::Insecure { .. } => "InsecureError",
        SdkError::Plan(_) => "PlanError",
        SdkError::Resume { .. } => "JobFolderError",
        SdkError::Cancelled => "CancelledError",
        SdkError::Rejected(_)
        | SdkError::AppRejected(_)
        | SdkError::Unverifiable { .. }
        | SdkError::WrongProof { .. } => "RejectedError",
        SdkError::Unsupported(_) => "UnsupportedError",
        _ => "ProveError",
    }
}

fn class_of_engine(source: &EngineError) -> &'static str {
    let mut error = source.downcast_ref::<MetalProverError>();
    while let Some(inner) = error {
        error = match inner {
            MetalProverError::Device(
                MetalError::DeviceUnavailable { .. } | MetalError::UnknownDevice { .. },
            ) => return "DeviceUnavailableError",
            MetalProverError::Device(
                MetalError::OutOfMemory { .. } | MetalError::BufferTooLarge { .. },
            )
            | MetalProverError::MemoryBudget { .. } => return "OutOfMemoryError",
            MetalProverError::Transport(inner) => Some(inner),
            _ => None,
        };
    }
    "DeviceError"
}
