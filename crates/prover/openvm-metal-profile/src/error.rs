//! `ProfileError`.

/// Errors of recording or writing costs.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// Bytes that are not an ELF with symbols.
    #[error("no symbols can be read from this ELF: {0}")]
    Elf(String),
    /// No flame graph was drawn.
    #[error("the flame graph cannot be drawn: {0}")]
    FlameGraph(String),
}
