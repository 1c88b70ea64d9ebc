//! A program's input, in cargo-openvm's form.

use std::path::Path;

use openvm_sdk::StdIn;
use openvm_transpiler::openvm_platform::memory::MEM_SIZE;
use serde::Deserialize;
use serde_json::Value;

use super::{read_bounded, repeated_keys};
use crate::{error::SdkError, typed_input};

/// Most bytes of a value: the guest's whole memory.
const MAX_VALUE: u64 = MEM_SIZE as u64;

/// Most bytes of a list of values in hexadecimal.
const MAX_JSON: u64 = 2 * MAX_VALUE;

const WHAT: &str = "a program's input";

/// The file's contents.
#[derive(Deserialize)]
#[serde(expecting = "an object with the field `input`")]
struct InputFile {
    input: Vec<Value>,
}

/// Reads what a program reads: a JSON file with a list of values under "input", or any other file, whose bytes are the one value.
///
/// A value of the list is a string in the form of [`value_from_hex`]; or an object of one type, in the notation of Rust, and its value,
/// which `io::read` of that type takes: `{"u64": 1000}`, `{"Vec<(String, u32)>": [["a", 1]]}`,
/// `{"struct { name: String, key: [u8; 4] }": {"name": "a", "key": "0x01020304"}}`; or `{"bytes": "0x0102"}` and `{"text": "..."}`, which
/// `io::read_vec` takes.
///
/// Keys of an object, keys of a map and elements of a set are there once.
///
/// # Errors
/// [`SdkError::File`] if there is none, or it is larger than the guest's memory; [`SdkError::Bytes`] if it is not
/// of the form.
pub fn read_input(path: &Path) -> Result<StdIn, SdkError> {
    if path.extension().is_none_or(|extension| extension != "json") {
        let mut stdin = StdIn::default();
        stdin.write_bytes(&read_bounded(path, WHAT, MAX_VALUE)?);
        return Ok(stdin);
    }
    let bytes = read_bounded(path, WHAT, MAX_JSON)?;
    stdin_from_json(&bytes).map_err(|reason| SdkError::Bytes {
        what: WHAT,
        reason: format!("{}: {reason}", path.display()),
    })
}

/// Takes what a program reads from the bytes of a JSON file.
///
/// # Errors
/// [`SdkError::Bytes`] if they are not of the form.
pub fn input_from_json(bytes: &[u8]) -> Result<StdIn, SdkError> {
    stdin_from_json(bytes).map_err(|reason| SdkError::Bytes { what: WHAT, reason })
}

fn stdin_from_json(bytes: &[u8]) -> Result<StdIn, String> {
    let file: InputFile = super::json(bytes)
        .map_err(|error| format!("{error} (expected is {{\"input\": [VALUES]}})"))?;
    repeated_keys::refuse(bytes)?;
    let mut stdin = StdIn::default();
    for (index, value) in file.input.iter().enumerate() {
        typed_input::add(&mut stdin, value, value_from_hex)
            .map_err(|reason| format!("value {index}: {reason}"))?;
    }
    Ok(stdin)
}

/// The bytes of one value in hexadecimal: 01 and bytes, or 02 and little-endian words of 4 bytes.
///
/// # Errors
/// What the text lacks.
pub fn value_from_hex(text: &str) -> Result<Vec<u8>, String> {
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
        assert_eq!(value_from_hex("0x01"), Ok(vec![]));
        assert_eq!(value_from_hex("01ff00"), Ok(vec![255, 0]));
        assert_eq!(value_from_hex("0x0201000000"), Ok(vec![1, 0, 0, 0]));
        for bad in ["", "0x", "0x1", "0x02010000", "0x03", "zz", "0x01é0"] {
            assert!(value_from_hex(bad).is_err(), "{bad}");
        }
    }
}
