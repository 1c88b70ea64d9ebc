#![doc = include_str!("../README.md")]
//!
//! ## In this crate
//! * [`Executor`]: one device; it owns a [`Backend`](hologram_backends::Backend).
//! * [`Buffer`], [`DynBuffer`]: memory, with an element type that the compiler or only the run knows.
//! * [`Tensor`], [`Layout`]: shapes and views.
//! * [`ops`]: operations on buffers, run where the buffers are.
//! * [`Error`]: what can go wrong.
#![warn(missing_docs)]

mod backend_type;
mod buffer;
pub mod device;
mod element;
mod error;
mod executor;
pub mod expression;
mod layout;
pub mod ops;
pub mod positions;
pub mod scans;
mod shared;
pub mod sorting;
mod stats;
mod tensor;

pub use backend_type::BackendType;
pub use buffer::{Buffer, DynBuffer, Span};
pub use element::{Element, Float, Number, Signed};
pub use error::{Error, Result};
pub use executor::Executor;
pub use hologram_backends::metal::Fallback;
pub use layout::{broadcast_shapes, Layout};
pub use ops::strided;
pub use stats::Stats;
pub use tensor::Tensor;
