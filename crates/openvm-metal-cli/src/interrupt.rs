//! Ctrl-C: the first one asks the command to stop after the work at hand, the second one ends the
//! process at once. Commands that leave nothing half done end at the first.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::{
    error::{CliError, Result},
    table::note,
};

static REQUESTED: AtomicBool = AtomicBool::new(false);
static AT_ONCE: AtomicBool = AtomicBool::new(false);

/// Installs the handler.
///
/// # Errors
/// [`CliError::Signal`] if the system refuses it.
pub fn install() -> Result<()> {
    ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::SeqCst) || AT_ONCE.load(Ordering::SeqCst) {
            std::process::exit(130);
        }
        note("\nstopping after the work at hand; Ctrl-C again stops at once");
    })?;
    Ok(())
}

/// From now on the first Ctrl-C ends the process.
pub fn at_once() {
    AT_ONCE.store(true, Ordering::SeqCst);
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
