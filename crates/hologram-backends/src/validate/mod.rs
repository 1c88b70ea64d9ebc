//! The validator: what is certain about a program before it runs.

mod error;

pub use error::{ValidationError, ValidationErrorKind};
