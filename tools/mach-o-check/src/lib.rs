#![doc = include_str!("../README.md")]
//!
//! ## In this crate
//! * [`Image::read`] reads what matters off a Mach-O file, [`Stubs::read`] what the system's libraries export.
//! * [`check`] compares the two with a [`Promise`] and gives [`Finding`]s.

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
