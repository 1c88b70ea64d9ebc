//! A program's input, in cargo-openvm's form.

use std::path::Path;

use clap::Args;
use openvm_sdk::StdIn;
use openvm_transpiler::openvm_platform::memory::MEM_SIZE;
use serde::Deserialize;

use super::read;
use crate::error::{CliError, Result};

/// Most bytes of a value: the guest's whole memory.
const MAX_VALUE: u64 = MEM_SIZE as u64;

/// What the program reads.
#[derive(Args, Debug)]
pub struct InputArgs {
    /// What the program reads: one value in hexadecimal, or a JSON file with a list of values under "input"; a value
    /// is 01 and bytes, or 02 and little-endian words of 4 bytes. Or any other file, whose bytes are the value.
    #[arg(long, value_name = "HEX|FILE")]
    input: Option<String>,
}

/// The file's contents.
#[derive(Deserialize)]
struct InputFile {
    input: Vec<String>,
}

impl InputArgs {
    /// What was given.
    pub fn text(&self) -> Option<&str> {
        self.input.as_deref()
    }

    /// The values, in the order in which the program reads them.
    ///
    /// # Errors
    /// [`CliError::Input`] if it is neither hexadecimal nor a file, or the file's values are not of the form.
    pub fn stdin(&self) -> Result<StdIn> {
        let mut stdin = StdIn::default();
        let Some(text) = &self.input else {
            return Ok(stdin);
        };
        let path = Path::new(text);
        if !path.exists() {
            let value = value(text).map_err(|reason| {
                CliError::Input(format!("{text}: no such file, and as a value: {reason}"))
            })?;
            stdin.write_bytes(&value);
            return Ok(stdin);
        }
        if path.extension().is_none_or(|extension| extension != "json") {
            stdin.write_bytes(&read(path, MAX_VALUE)?);
            return Ok(stdin);
        }
        let bytes = read(path, 2 * MAX_VALUE)?;
        let bad = |reason: String| CliError::Input(format!("{}: {reason}", path.display()));
        let file: InputFile = serde_json::from_slice(&bytes)
            .map_err(|error| bad(format!("{error} (expected is {{\"input\": [VALUES]}})")))?;
        for (index, text) in file.input.iter().enumerate() {
            let value = value(text).map_err(|reason| bad(format!("value {index}: {reason}")))?;
            stdin.write_bytes(&value);
        }
        Ok(stdin)
    }
}

/// The bytes of one value.
fn value(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.strip_prefix("0x").unwrap_or(text);
    if !digits.len().is_multiple_of(2) || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return Err("not an even number of hexadecimal digits".into());
    }
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16);
    let bytes: Result<Vec<u8>, _> = (0..digits.len()).step_by(2).map(byte).collect();
    let bytes = bytes.map_err(|error| error.to_string())?;
    match bytes.split_first() {
        Some((1, value)) => Ok(value.to_vec()),
        Some((2, words)) if words.len().is_multiple_of(4) => Ok(words.to_vec()),
        Some((2, _)) => Err("after 02 come words of 4 bytes".into()),
        _ => Err("a value begins with 01 (bytes) or 02 (words)".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        assert_eq!(value("0x01"), Ok(vec![]));
        assert_eq!(value("01ff00"), Ok(vec![255, 0]));
        assert_eq!(value("0x0201000000"), Ok(vec![1, 0, 0, 0]));
        for bad in ["", "0x", "0x1", "0x02010000", "0x03", "zz", "0x01é0"] {
            assert!(value(bad).is_err(), "{bad}");
        }
    }
}
