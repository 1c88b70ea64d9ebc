//! Interface of instruction fields: they are written and read as bytes and as text.

use super::Ty;

/// Bytes being decoded.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next `len` bytes.
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], String> {
        let rest = &self.bytes[self.at..];
        let taken = rest
            .get(..len)
            .ok_or_else(|| format!("{len} bytes wanted, {} left", rest.len()))?;
        self.at += len;
        Ok(taken)
    }

    /// The next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], String> {
        let mut out = [0; N];
        out.copy_from_slice(self.take(N)?);
        Ok(out)
    }

    pub(crate) fn position(&self) -> usize {
        self.at
    }

    pub(crate) fn remaining(&self) -> usize {
        self.bytes.len() - self.at
    }
}

/// A field of an instruction.
pub(crate) trait Field: Sized {
    /// Appends the serialised form.
    fn encode(&self, out: &mut Vec<u8>);

    /// Reads the serialised form; the error says what is wrong.
    fn decode(input: &mut Reader<'_>) -> Result<Self, String>;

    /// Assembly text; `None` when the field is left out.
    fn show(&self) -> Option<String>;

    /// Reads assembly text; `None` when there is none left.
    fn parse(text: Option<&str>) -> Result<Self, String>;

    /// [`Field::show`] of the field called `name` of an instruction of type `ty`.
    fn show_in(&self, _name: &str, _ty: Option<Ty>) -> Option<String> {
        self.show()
    }

    /// [`Field::parse`] for the field called `name` of an instruction of type `ty`.
    fn parse_in(text: Option<&str>, _name: &str, _ty: Option<Ty>) -> Result<Self, String> {
        Self::parse(text)
    }
}

/// The operand that must be there.
pub(super) fn required<'a>(text: Option<&'a str>, what: &str) -> Result<&'a str, String> {
    match text {
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(format!("missing {what}")),
    }
}
