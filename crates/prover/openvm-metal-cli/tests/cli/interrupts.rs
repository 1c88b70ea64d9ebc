//! `with_interrupts`: a command that takes Ctrl-C.

use std::{io, os::unix::process::CommandExt, process::Command};

/// Makes the process end by Ctrl-C even if the tests were started to ignore it, as behind `&` of a script.
pub fn with_interrupts(command: &mut Command) -> &mut Command {
    let reset = || {
        // SAFETY: the call is safe between `fork` and `exec`, and sets no function of this process.
        match unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) } {
            libc::SIG_ERR => Err(io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // SAFETY: `reset` calls nothing but `signal`, and allocates nothing.
    unsafe { command.pre_exec(reset) }
}
