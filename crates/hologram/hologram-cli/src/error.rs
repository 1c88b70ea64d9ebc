//! Errors of a command, with its exit status and a remedy.

use hologram_backends::{BackendError, FaultKind, ProgramError, ValidationErrorKind};

/// Result of a command.
pub type Result<T, E = CliError> = std::result::Result<T, E>;

/// Errors of a command.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// A program that cannot be read.
    #[error("{path}: {source}")]
    Program { path: String, source: ProgramError },
    /// A file of a program, which the error names.
    #[error(transparent)]
    File(ProgramError),
    /// The program is not valid, or its run failed.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A file that cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        path: String,
        source: std::io::Error,
    },
    /// A file that cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        path: String,
        source: std::io::Error,
    },
    /// A file that is no array this command can use.
    #[error("{path}: {reason}")]
    Array { path: String, reason: String },
    /// Arguments that do not fit each other.
    #[error("{0}")]
    Usage(String),
    /// A random program did what none may.
    #[error("program of seed {seed}: {what}")]
    Found { seed: u64, what: String },
    /// Something of the self test did not pass; it was said before.
    #[error("{failed} of {total} checks failed")]
    SelftestFailed { failed: usize, total: usize },
    /// Standard output could not be written.
    #[error("cannot write: {0}")]
    Output(#[from] std::io::Error),
}

impl CliError {
    /// The error of a program's file.
    pub fn program(path: &std::path::Path, source: ProgramError) -> Self {
        match source {
            ProgramError::File { .. } => Self::File(source),
            _ => Self::Program {
                path: path.display().to_string(),
                source,
            },
        }
    }

    /// Status of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Backend(
                BackendError::InvalidLaunchConfig { .. }
                | BackendError::SharedMemoryAllocationFailed { .. },
            ) => 2,
            _ => 1,
        }
    }

    /// True if nothing needs to be printed: a closed pipe is how `| head` ends a program.
    pub fn is_silent(&self) -> bool {
        matches!(self, Self::Output(e) if e.kind() == std::io::ErrorKind::BrokenPipe)
    }

    /// Remedy for the user.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Backend(BackendError::Validation(error)) => match error.kind {
                ValidationErrorKind::UninitializedRegister(_) => Some(
                    "`--register rN=VALUE` presets a register, `--register rN=@b0` with a buffer",
                ),
                _ => None,
            },
            Self::Backend(BackendError::Fault(fault)) => match fault.kind {
                FaultKind::StepBudgetExceeded { .. } => Some("`--steps N` allows more steps"),
                FaultKind::TimeLimitExceeded { .. } => {
                    Some("`--time-limit SECONDS` allows more time")
                }
                FaultKind::InvalidBufferHandle { .. } => {
                    Some("the buffers of --buffer have the handles 1, 2, 3, ... in their order")
                }
                FaultKind::SharedOutOfBounds { .. } => {
                    Some("`--shared BYTES` gives each block shared memory")
                }
                _ => None,
            },
            Self::SelftestFailed { .. } => {
                Some("`selftest --json` is a report to post; `fuzz --seed N --programs 1` shows a program made small")
            }
            _ => None,
        }
    }
}
