//! A trace of the GPU's work for Xcode, asked for by an environment variable.

use std::path::{Path, PathBuf};

use crate::driver::CAPTURE_VARIABLE;
use crate::error::{MetalError, Result};

/// The file that a value of [`CAPTURE_VARIABLE`] asks for.
///
/// # Errors
/// [`MetalError::InvalidSetting`] for another ending.
pub(crate) fn file(value: Option<&str>) -> Result<Option<PathBuf>> {
    match value.unwrap_or_default() {
        "" => Ok(None),
        path if Path::new(path).extension().is_some_and(|e| e == "gputrace") => {
            Ok(Some(path.into()))
        }
        other => Err(MetalError::InvalidSetting {
            variable: CAPTURE_VARIABLE,
            value: other.to_owned(),
            expected: "a file name that ends in .gputrace",
        }),
    }
}

/// Reason why a trace cannot be written, and what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// Metal offers no traces in files to this process.
    Unsupported,
    /// Something is there already.
    Exists,
    /// Another context, or a tool, is writing one.
    Busy,
}

impl Obstacle {
    /// In words.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unsupported => {
                "Metal writes no traces in this process: set MTL_CAPTURE_ENABLED=1 before it starts"
            }
            Self::Exists => {
                "the file exists already, and Metal does not replace it: give another name"
            }
            Self::Busy => "another trace is being written: one at a time is possible in a process",
        }
    }
}

/// The error for a trace that cannot be written.
pub(crate) fn refused(file: &Path, reason: &str) -> MetalError {
    MetalError::Capture {
        path: file.display().to_string(),
        reason: reason.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_file() {
        assert_eq!(file(None).expect("unset"), None);
        assert_eq!(file(Some("")).expect("empty"), None);
        assert_eq!(
            file(Some("/tmp/proof.gputrace")).expect("a trace"),
            Some("/tmp/proof.gputrace".into())
        );
        for bad in ["1", "proof.trace", "/tmp/", "gputrace"] {
            let error = file(Some(bad)).expect_err(bad).to_string();
            assert!(
                error.contains("OPENVM_METAL_CAPTURE") && error.contains(".gputrace"),
                "{error}"
            );
        }
    }

    #[test]
    fn what_to_do() {
        let error = refused(Path::new("a.gputrace"), Obstacle::Unsupported.reason()).to_string();
        assert!(
            error.contains("a.gputrace") && error.contains("MTL_CAPTURE_ENABLED=1"),
            "{error}"
        );
        assert!(Obstacle::Exists.reason().contains("another name"));
        assert!(Obstacle::Busy.reason().contains("one at a time"));
    }
}
