//! Facts that only the device itself shows, for reports.

use serde::Serialize;

/// Something about an open device and what it has done, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// What it is about.
    pub name: &'static str,
    /// What was found.
    pub value: String,
}

impl Diagnostic {
    pub(crate) fn new(name: &'static str, value: String) -> Self {
        Self { name, value }
    }
}
