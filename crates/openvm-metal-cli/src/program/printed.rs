//! Where the text goes that a guest prints.

use std::{
    io::{self, Write},
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
};

/// While it lives, what a guest prints goes to standard error, so that standard output is left to JSON. The virtual machine
/// itself prints to standard output.
pub struct PrintedToStderr {
    stdout: OwnedFd,
}

impl PrintedToStderr {
    /// Begins if `json` is set.
    ///
    /// # Errors
    /// If the process has no standard error, or no descriptor is left.
    pub fn if_json(json: bool) -> io::Result<Option<Self>> {
        json.then(Self::begin).transpose()
    }

    fn begin() -> io::Result<Self> {
        io::stdout().flush()?;
        // SAFETY: `dup` takes any number and returns a new descriptor, or -1.
        let copy = unsafe { libc::dup(libc::STDOUT_FILENO) };
        if copy < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: `copy` was opened above and belongs to nobody else.
        let stdout = unsafe { OwnedFd::from_raw_fd(copy) };
        replace_stdout(libc::STDERR_FILENO)?;
        Ok(Self { stdout })
    }
}

impl Drop for PrintedToStderr {
    fn drop(&mut self) {
        // What is left of a line goes where the line went. Neither can be told to anyone from here; a standard output that is lost
        // shows when the report is written.
        let _ = io::stdout().flush();
        let _ = replace_stdout(self.stdout.as_raw_fd());
    }
}

/// Standard output becomes a copy of `with`.
fn replace_stdout(with: RawFd) -> io::Result<()> {
    // SAFETY: `dup2` takes any numbers; both name descriptors that stay open.
    match unsafe { libc::dup2(with, libc::STDOUT_FILENO) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
