//! Facts that only the device itself shows, for reports.

use serde::Serialize;

/// Something about an open device and what it has done, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// Subject of the entry.
    pub name: &'static str,
    /// Text of the entry.
    pub value: String,
}

impl Diagnostic {
    pub(crate) fn new(name: &'static str, value: String) -> Self {
        Self { name, value }
    }
}
