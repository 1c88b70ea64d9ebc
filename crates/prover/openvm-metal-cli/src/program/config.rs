//! The configuration of a program: a file that is named, or found beside the program.

use std::path::{Path, PathBuf};

use openvm_metal_sdk::{
    files::{self, ConfigText},
    guest::CONFIG_FILE,
    SdkError,
};

use super::found;
use crate::{
    error::{CliError, Result},
    table::note,
};

/// A configuration and its file.
pub struct Config {
    pub path: PathBuf,
    pub text: String,
    pub parsed: ConfigText,
}

/// The file of the configuration that `build` stores with an executable: `NAME.openvm.toml` beside `NAME.vmexe`.
pub fn stored_config(program: &Path) -> PathBuf {
    program.with_extension(CONFIG_FILE)
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// [`CliError::Config`] with the file's name, or that of reading it.
    pub fn read(path: &Path) -> Result<Self> {
        let text = files::read_config(path)?;
        let parsed = files::config_from_text(&text).map_err(|error| match error {
            SdkError::Config(reason) => CliError::Config(format!("{}: {reason}", path.display())),
            other => other.into(),
        })?;
        Ok(Self {
            path: path.to_owned(),
            text,
            parsed,
        })
    }

    /// Reads the configuration of a program: the one that is given, or the first file of [`places`] that is there. Says
    /// which files were looked at if there is none: then the program gets RV32IM with input and output.
    ///
    /// # Errors
    /// See [`read`](Self::read); [`CliError::ForeignConfig`] for a file that another user may have put there.
    pub fn of(program: &Path, given: Option<&Path>) -> Result<Option<Self>> {
        if let Some(path) = given {
            return Self::read(path).map(Some);
        }
        if let Some(path) = taken(program)? {
            if path.parent() != program.parent() && !program.is_dir() {
                note(format_args!("the configuration is {}", path.display()));
            }
            return Self::read(&path).map(Some);
        }
        let names: Vec<String> = places(program)
            .iter()
            .map(|place| place.display().to_string())
            .collect();
        note(format_args!(
            "{}: not there, the program gets RV32IM with input and output",
            names.join(", ")
        ));
        Ok(None)
    }
}

/// The file of a program's configuration, if there is one.
pub fn find(program: &Path) -> Option<PathBuf> {
    places(program).into_iter().find(|place| place.exists())
}

/// The file of a program's configuration, if there is one and no other user may have put it there.
///
/// # Errors
/// [`CliError::ForeignConfig`].
pub fn taken(program: &Path) -> Result<Option<PathBuf>> {
    find(program)
        .map(|path| found::check(path, program))
        .transpose()
}

/// The files that may be a program's configuration, in the order in which they are looked for: that of the guest's folder; or
/// that which `build` stored with the file, that in the file's folder, and that of the cargo package which the file lies in, as
/// executables of cargo-openvm do.
fn places(program: &Path) -> Vec<PathBuf> {
    if program.is_dir() {
        return vec![program.join(CONFIG_FILE)];
    }
    let mut places = vec![stored_config(program), program.with_file_name(CONFIG_FILE)];
    let whole = program.canonicalize().ok();
    let package = whole
        .iter()
        .flat_map(|program| program.ancestors().skip(1))
        .find(|folder| folder.join("Cargo.toml").exists());
    if let Some(place) = package.map(|folder| folder.join(CONFIG_FILE)) {
        let is_there = |known: &PathBuf| {
            let folder = |path: &Path| path.parent()?.canonicalize().ok();
            known.file_name() == place.file_name() && folder(known) == folder(&place)
        };
        if !places.iter().any(is_there) {
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::tempdir;

    use super::*;

    /// An executable of `build` or cargo-openvm finds the configuration that it was made with; a file outside of a package finds
    /// none.
    #[test]
    fn configuration_places() {
        let root = tempdir().expect("a folder");
        let path = |name: &str| root.path().join(name);
        let write = |name: &str| {
            let path = path(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, "").expect("written");
            path
        };
        let lone = write("lone.vmexe");
        assert_eq!(find(&lone), None);
        assert_eq!(
            places(&lone),
            [path("lone.openvm.toml"), path("openvm.toml")]
        );
        write("guest/Cargo.toml");
        let (ours, theirs) = (
            write("guest/target/openvm/release/a.vmexe"),
            write("guest/openvm/release/a.vmexe"),
        );
        assert_eq!(find(&ours), None);
        let package = write("guest/openvm.toml").canonicalize().expect("there");
        assert_eq!(find(&ours).as_ref(), Some(&package));
        assert_eq!(find(&theirs).as_ref(), Some(&package));
        assert_eq!(find(&path("guest")), Some(path("guest/openvm.toml")));
        let stored = write("guest/target/openvm/release/a.openvm.toml");
        assert_eq!(find(&ours), Some(stored));
        // A package within has no configuration, that of the outer one is another's.
        write("guest/inner/Cargo.toml");
        assert_eq!(find(&write("guest/inner/target/b.elf")), None);
        let elf = write("guest/c.elf");
        assert_eq!(places(&elf).len(), 2, "{:?}", places(&elf));
    }
}
