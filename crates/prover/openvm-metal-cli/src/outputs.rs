//! Files of results. A result that cannot be written where it should be is kept elsewhere.

use std::{
    fs::{DirBuilder, Permissions},
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use openvm_metal_sdk::SdkError;
use tempfile::{Builder, TempDir};

use crate::error::{CliError, Misplaced, Result};

/// The results of a command, which may have taken hours.
#[derive(Default)]
pub struct Outputs {
    misplaced: Vec<Misplaced>,
}

impl Outputs {
    /// Writes a file, or another in the first place that takes it, and returns where the result is.
    ///
    /// # Errors
    /// If the result has no form that could be written.
    pub fn write(
        &mut self,
        path: &Path,
        write: impl Fn(&Path) -> Result<(), SdkError>,
    ) -> Result<PathBuf> {
        let error = match write(path) {
            Ok(()) => return Ok(path.to_owned()),
            Err(error @ SdkError::Write { .. }) => error,
            Err(error) => return Err(error.into()),
        };
        let name = path.file_name().unwrap_or("result".as_ref());
        let kept = other_places().into_iter().find_map(|place| {
            let folder = private_folder(&place)?;
            write(&folder.path().join(name)).ok()?;
            Some(folder.keep().join(name))
        });
        let at = kept.clone().unwrap_or_else(|| path.to_owned());
        self.misplaced.push(Misplaced { error, kept });
        Ok(at)
    }

    /// Ends well if every result is where it should be.
    ///
    /// # Errors
    /// [`CliError::Misplaced`].
    pub fn finish(self) -> Result<()> {
        match self.misplaced.is_empty() {
            true => Ok(()),
            false => Err(CliError::Misplaced(self.misplaced)),
        }
    }
}

/// The places where results may be kept, the best first.
fn other_places() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let home = || variable("HOME").filter(|home| home.is_absolute());
    let state = match cfg!(target_os = "macos") {
        true => home().map(|home| home.join("Library/Application Support")),
        false => variable("XDG_STATE_HOME")
            .filter(|state| state.is_absolute())
            .or_else(|| home().map(|home| home.join(".local/state"))),
    };
    let places = [
        std::env::current_dir().ok(),
        state.map(|state| state.join("openvm-metal")),
        Some(std::env::temp_dir()),
        // Memory, where the system has a file system of it: the last resort when disks are full.
        Some(PathBuf::from("/dev/shm")),
    ];
    places.into_iter().flatten().collect()
}

/// A new folder that only this user may look into, removed unless it is kept.
fn private_folder(place: &Path) -> Option<TempDir> {
    // The user's folder of state may be missing; the others are there, or are not this program's to make.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(place)
        .ok()?;
    let mut folder = Builder::new();
    folder.prefix("openvm-metal-kept-");
    folder.permissions(Permissions::from_mode(0o700));
    folder.tempdir_in(place).ok()
}
