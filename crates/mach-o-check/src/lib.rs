//! Whether a Mac would load and run a program that was linked on another system.
//!
//! [`Image::read`] reads what matters off a Mach-O file, [`Stubs::read`] what its libraries export, and [`check`] compares
//! the two with what a release promises: processor, oldest system, every symbol from a library that has it, an ad hoc
//! signature whose hashes are those of the pages, and no path of the machine that built it.

mod error;
mod image;
mod rules;
mod signature;
mod stubs;

pub use error::ImageError;
pub use image::{Image, ImageKind, Import, Source};
pub use rules::{check, Finding, Promise};
pub use signature::Signature;
pub use stubs::{StubError, Stubs};
