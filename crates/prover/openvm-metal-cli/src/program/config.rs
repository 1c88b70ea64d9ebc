//! The configuration of a program: a file that is named, or found beside the program.

use std::{
    fs,
    path::{Path, PathBuf},
};

use openvm_metal_sdk::{
    files::{self, ConfigText},
    SdkError,
};
use openvm_sdk_config::SdkVmConfig;

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

/// Writes the configuration that an executable was made with beside it: RV32IM with input and output if there is none.
///
/// # Errors
/// [`CliError::Write`].
pub fn store_config(config: Option<&Config>, executable: &Path) -> Result<PathBuf> {
    let text = match config {
        Some(config) => config.text.clone(),
        None => SdkVmConfig::riscv32()
            .to_toml()
            .map_err(|error| SdkError::Config(error.to_string()))?,
    };
    let path = files::stored_config(executable);
    fs::write(&path, text).map_err(|source| CliError::Write {
        path: path.display().to_string(),
        source,
    })?;
    Ok(path)
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

    /// Reads the configuration of a program: the one that is given, or the first of [`files::config_places`] that is there. Says
    /// which files were looked at if there is none: then the program gets RV32IM with input and output.
    ///
    /// # Errors
    /// See [`read`](Self::read); [`SdkError::ForeignConfig`] for a file that another user may have put there.
    pub fn of(program: &Path, given: Option<&Path>) -> Result<Option<Self>> {
        if let Some(path) = given {
            return Self::read(path).map(Some);
        }
        if let Some(path) = files::found_config(program)? {
            if path.parent() != program.parent() && !program.is_dir() {
                note(format_args!("the configuration is {}", path.display()));
            }
            return Self::read(&path).map(Some);
        }
        let names: Vec<String> = files::config_places(program)
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
