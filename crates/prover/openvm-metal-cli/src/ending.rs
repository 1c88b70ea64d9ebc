//! The end of the process.

use std::io::Write as _;

/// Ends the process with a status, after what was printed.
pub fn end(status: u8) -> ! {
    // A stream that takes nothing has told so where it was written to.
    let _ = std::io::stdout().flush();
    at_once(status)
}

/// Ends the process with a status. A line that has no end yet is not printed: another thread may hold standard output for as long as a pipe
/// is full.
///
/// Handlers that libraries registered for the exit do not run. Those of a GPU's driver take its state apart while threads that nobody waits for,
/// the driver's own and those of the pool, may still be in it: of some 80 commands that ended with an error on an NVIDIA GPU, one then ended with
/// `realloc(): invalid pointer` and status 134 in place of its own. Nothing of ours is left to the exit: files are whole or have another name
/// until they are, temporary folders go with their owners before this, and the system takes memory and devices back.
pub fn at_once(status: u8) -> ! {
    // SAFETY: the process may end at any time.
    unsafe { libc::_exit(status.into()) }
}
