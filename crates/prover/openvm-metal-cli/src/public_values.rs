//! Public values in the form that a user asks for.

use clap::ValueEnum;
use serde_json::{json, Value};

use crate::hex;

/// Form in which public values are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputType {
    /// Bytes in hexadecimal.
    #[default]
    Hex,
    /// A list of bytes.
    Bytes,
    /// A list of little-endian words of 4 bytes, as `reveal_u32` reveals them.
    U32,
    /// A list of little-endian words of 8 bytes.
    U64,
    /// UTF-8, up to the zeros at its end.
    Text,
}

impl OutputType {
    /// The values as JSON. Bytes that make no whole word at the end are padded with zeros.
    pub fn of(self, bytes: &[u8]) -> Value {
        let words = |size: usize| -> Value {
            let word = |bytes: &[u8]| {
                bytes
                    .iter()
                    .rev()
                    .fold(0_u64, |word, &byte| word << 8 | u64::from(byte))
            };
            bytes.chunks(size).map(word).collect()
        };
        match self {
            Self::Hex => json!(hex::encode(bytes)),
            Self::Bytes => words(1),
            Self::U32 => words(4),
            Self::U64 => words(8),
            Self::Text => {
                let end = bytes
                    .iter()
                    .rposition(|&byte| byte != 0)
                    .map_or(0, |at| at + 1);
                json!(String::from_utf8_lossy(&bytes[..end]))
            }
        }
    }

    /// The values in a line.
    pub fn line(self, bytes: &[u8]) -> String {
        match (self, self.of(bytes)) {
            (Self::Hex, Value::String(text)) => text,
            (_, value) => value.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_public_values() {
        let bytes = [1, 2, 0, 0, 255, 255, 255, 255, 97, 0];
        for (kind, line) in [
            (OutputType::Hex, "0x01020000ffffffff6100"),
            (OutputType::Bytes, "[1,2,0,0,255,255,255,255,97,0]"),
            (OutputType::U32, "[513,4294967295,97]"),
            (OutputType::U64, "[18446744069414584833,97]"),
        ] {
            assert_eq!(kind.line(&bytes), line);
        }
        assert_eq!(
            OutputType::Text.line(b"a\"\xff\0b\0\0"),
            "\"a\\\"\u{fffd}\\u0000b\""
        );
        assert_eq!(OutputType::Text.line(&[0; 32]), "\"\"");
    }
}
