//! Files that a command will write.

use std::{fs::File, io, path::Path};

use crate::error::{CliError, Result};

/// Finds out whether a file can be written, and leaves everything as it was.
///
/// # Errors
/// [`CliError::Write`] if not.
pub fn probe(path: &Path) -> Result<()> {
    try_open(path).map_err(|source| CliError::Write {
        path: path.display().to_string(),
        source,
    })
}

fn try_open(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        let reason = format!("there is no folder {}", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    }
    let existed = path.exists();
    File::options().append(true).create(true).open(path)?;
    match existed {
        true => Ok(()),
        false => std::fs::remove_file(path),
    }
}
