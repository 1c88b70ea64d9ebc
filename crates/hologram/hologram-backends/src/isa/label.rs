//! Names of jump targets.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::program_error::ProgramError;

/// Longest label, in bytes.
const MAX_LEN: usize = 255;

/// Name of a place in a program: 1 to 255 of `A-Z a-z 0-9 _ . $`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(Arc<str>);

impl Label {
    /// A label called `name`.
    ///
    /// # Errors
    /// [`ProgramError::InvalidLabelName`] when the name is empty, too long or has other characters.
    pub fn new(name: &str) -> Result<Self, ProgramError> {
        let allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'$');
        if name.is_empty() || name.len() > MAX_LEN || !name.bytes().all(allowed) {
            let shown: String = name.chars().take(40).collect();
            return Err(ProgramError::InvalidLabelName(shown));
        }
        Ok(Self(name.into()))
    }

    /// The name, without the `@` of assembly.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl TryFrom<&str> for Label {
    type Error = ProgramError;

    fn try_from(name: &str) -> Result<Self, ProgramError> {
        Self::new(name)
    }
}

impl Borrow<str> for Label {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0)
    }
}
