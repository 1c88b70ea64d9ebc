//! Errors of reading a file.

/// Errors of reading a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// Not a Mach-O file for one 64-bit processor, or one that is cut short or contradicts itself.
    #[error("no readable 64-bit Mach-O file: {0}")]
    Unreadable(String),
    /// A load command or name that is not text.
    #[error("a {what} that is no UTF-8 text")]
    Text {
        /// Kind of name that is missing.
        what: &'static str,
    },
}

impl From<object::read::Error> for ImageError {
    fn from(error: object::read::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}
