//! Ctrl-C: the first one asks the command to stop after the work at hand, the second one ends the
//! process at once. Commands that leave nothing half done end at the first. A process that was started to ignore the signal, as
//! behind `&` of a script, ignores it.

use std::sync::{
    atomic::{AtomicBool, Ordering},
    OnceLock,
};

use crate::{
    ending,
    error::{CliError, Result},
    table::note,
};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static AT_ONCE: AtomicBool = AtomicBool::new(false);
/// Command by which the user goes on with interrupted work.
static REMEDY: OnceLock<String> = OnceLock::new();

/// Installs the handler, unless the process that started this one made it ignore the signal.
///
/// # Errors
/// [`CliError::Signal`] if the system refuses it.
pub fn install() -> Result<()> {
    if is_ignored() {
        return Ok(());
    }
    ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::SeqCst) || AT_ONCE.load(Ordering::SeqCst) {
            if let Some(remedy) = REMEDY.get() {
                note(format_args!("\ninterrupted; {remedy}"));
            }
            ending::at_once(130);
        }
        note("\nstopping after the work at hand; Ctrl-C again stops at once");
    })?;
    Ok(())
}

/// True if the signal of Ctrl-C is ignored.
fn is_ignored() -> bool {
    // SAFETY: a `sigaction` of zeros is valid.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: without a new action the present one is written to the given place, which lives until the call returns.
    let asked = unsafe { libc::sigaction(libc::SIGINT, std::ptr::null(), &raw mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// From now on the first Ctrl-C ends the process.
pub fn at_once() {
    AT_ONCE.store(true, Ordering::SeqCst);
}

/// Makes the first Ctrl-C end the process and says how the work goes on: by the same command if it keeps its results.
pub fn at_once_with(keeps_results: bool) {
    let remedy = match keeps_results {
        true => format!("to go on: {}", command_line()),
        false => {
            "nothing is kept; with --resume FOLDER the same command goes on where it was".into()
        }
    };
    let _ = REMEDY.set(remedy);
    at_once();
}

/// The command as a shell takes it.
fn command_line() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let quote = |word: String| match shlex::try_quote(&word) {
        Ok(quoted) => quoted.into_owned(),
        Err(_) => word,
    };
    words.map(quote).collect::<Vec<_>>().join(" ")
}

/// True once Ctrl-C was pressed.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// An error once Ctrl-C was pressed.
///
/// # Errors
/// [`CliError::Interrupted`].
pub fn check() -> Result<()> {
    if requested() {
        return Err(CliError::Interrupted);
    }
    Ok(())
}
