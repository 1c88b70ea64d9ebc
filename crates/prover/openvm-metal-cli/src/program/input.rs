//! A program's input, in cargo-openvm's form.

use std::path::Path;

use clap::Args;
use openvm_metal_sdk::{files, SdkError};
use openvm_sdk::StdIn;

use crate::{
    error::{CliError, Result},
    file::Read,
};

/// Input of the program.
#[derive(Args, Clone, Debug)]
pub struct InputArgs {
    /// Give the program this input: a value in hexadecimal, JSON, or a file.
    ///
    /// Hexadecimal is 01 and bytes, or 02 and little-endian words of 4 bytes. JSON, here or in a file *.json, has a list of values:
    /// `{"input": ["0x0105", {"u64": 5}, {"Vec<String>": ["a"]}, {"bytes": "0x05"}]}`. An object is a type of Rust and its value, as
    /// `io::read` takes it. The bytes of any other file are one value.
    #[arg(long, value_name = "HEX|JSON|FILE")]
    input: Option<String>,
}

impl InputArgs {
    /// The given text.
    pub fn text(&self) -> Option<&str> {
        self.input.as_deref()
    }

    /// The file of the values, if they are in one.
    pub fn read_file(&self) -> Option<Read> {
        let path = Path::new(self.input.as_ref()?);
        path.exists().then(|| ("--input", path.to_owned()))
    }

    /// The values, in the order in which the program reads them.
    ///
    /// # Errors
    /// [`CliError::Input`] if it is neither hexadecimal nor a file, or that of the file.
    pub fn stdin(&self) -> Result<StdIn> {
        match &self.input {
            Some(text) => stdin_of(text),
            None => Ok(StdIn::default()),
        }
    }
}

/// The values of one input, which is given as [`InputArgs`] takes it.
///
/// # Errors
/// [`CliError::Input`] if it is neither hexadecimal nor a file, or that of the file.
pub fn stdin_of(text: &str) -> Result<StdIn> {
    let path = Path::new(text);
    if path.exists() {
        return files::read_input(path).map_err(of_input);
    }
    if text.trim_start().starts_with('{') {
        return files::input_from_json(text.as_bytes()).map_err(of_input);
    }
    let value = files::value_from_hex(text).map_err(|reason| {
        let is_value = !text.is_empty()
            && text
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b'x');
        CliError::Input(match is_value {
            true => format!("{text}: {reason}"),
            false => format!("{text}: no such file"),
        })
    })?;
    let mut stdin = StdIn::default();
    stdin.write_bytes(&value);
    Ok(stdin)
}

/// The error of an input that is not of the form.
fn of_input(error: SdkError) -> CliError {
    match error {
        SdkError::Bytes { reason, .. } => CliError::Input(reason),
        other => other.into(),
    }
}
