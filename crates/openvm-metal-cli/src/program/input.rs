//! A program's input, in cargo-openvm's form.

use std::path::Path;

use clap::Args;
use openvm_metal_sdk::{files, SdkError};
use openvm_sdk::StdIn;

use crate::{
    error::{CliError, Result},
    file::Named,
};

/// What the program reads.
#[derive(Args, Debug)]
pub struct InputArgs {
    /// What the program reads: one value in hexadecimal, or a JSON file with a list of values under "input"; a value
    /// is 01 and bytes, or 02 and little-endian words of 4 bytes. Or any other file, whose bytes are the value.
    #[arg(long, value_name = "HEX|FILE")]
    input: Option<String>,
}

impl InputArgs {
    /// What was given.
    pub fn text(&self) -> Option<&str> {
        self.input.as_deref()
    }

    /// The file of the values, if they are in one.
    pub fn read_file(&self) -> Option<Named<'_>> {
        let path = Path::new(self.input.as_ref()?);
        path.exists().then_some(("--input", path))
    }

    /// The values, in the order in which the program reads them.
    ///
    /// # Errors
    /// [`CliError::Input`] if it is neither hexadecimal nor a file, or that of the file.
    pub fn stdin(&self) -> Result<StdIn> {
        let Some(text) = &self.input else {
            return Ok(StdIn::default());
        };
        let path = Path::new(text);
        if path.exists() {
            return files::read_input(path).map_err(|error| match error {
                SdkError::Bytes { reason, .. } => CliError::Input(reason),
                other => other.into(),
            });
        }
        let value = files::value_from_hex(text).map_err(|reason| {
            CliError::Input(format!("{text}: no such file, and as a value: {reason}"))
        })?;
        let mut stdin = StdIn::default();
        stdin.write_bytes(&value);
        Ok(stdin)
    }
}
