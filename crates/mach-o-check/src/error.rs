//! Why a file cannot be read.

/// Why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// Not a Mach-O file for one 64-bit processor, or one that is cut short or contradicts itself.
    #[error("no readable 64-bit Mach-O file: {0}")]
    Unreadable(String),
    /// A load command or name that is not text.
    #[error("a {what} that is no UTF-8 text")]
    Text {
        /// What it should name.
        what: &'static str,
    },
}

impl From<object::read::Error> for ImageError {
    fn from(error: object::read::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}
