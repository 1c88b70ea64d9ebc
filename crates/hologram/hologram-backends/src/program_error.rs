//! Errors of a program's form.

/// A program that cannot be made, read or resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProgramError {
    /// A label is bound twice.
    #[error("label @{0} is bound twice")]
    DuplicateLabel(String),
    /// A jump names a label that is not bound.
    #[error("label @{label} at pc {pc} is not bound")]
    UndefinedLabel {
        /// Name of the label.
        label: String,
        /// The jump.
        pc: usize,
    },
    /// A label is bound past the end of the program.
    #[error("label @{label} is bound to {index}, past the program's {len} instructions")]
    InvalidLabelTarget {
        /// Name of the label.
        label: String,
        /// Binding index.
        index: usize,
        /// Instructions of the program.
        len: usize,
    },
    /// A label's name is empty, longer than 255 bytes or has a character outside `A-Z a-z 0-9 _ . $`.
    #[error("`{0}` is no name for a label: 1 to 255 of A-Z a-z 0-9 _ . $")]
    InvalidLabelName(String),
    /// A predicate register from 16 on.
    #[error("predicate p{0}: there are p0 to p15")]
    InvalidPredicate(u8),
    /// More instructions than a program may have.
    #[error("{len} instructions, at most {max}")]
    TooLong {
        /// Instructions asked for.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// Assembly text that does not parse.
    #[error("line {line}: {message}")]
    Syntax {
        /// Line of the text, from 1.
        line: usize,
        /// Description of the fault.
        message: String,
    },
    /// Bytes that are no serialised program.
    #[error("byte {offset}: {message}")]
    Malformed {
        /// Offset at which decoding stopped.
        offset: usize,
        /// Description of the fault.
        message: String,
    },
    /// A serialised program of a version that this library does not read.
    #[error("serialised by format version {found}; this library reads up to {supported}")]
    UnsupportedVersion {
        /// Version in the bytes.
        found: u16,
        /// Newest version read.
        supported: u16,
    },
    /// A file that cannot be read or written.
    #[error("{path}: {message}")]
    File {
        /// The file.
        path: String,
        /// The system's message.
        message: String,
    },
}
