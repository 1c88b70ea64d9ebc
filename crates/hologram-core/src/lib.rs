//! Buffers, tensors and operations on one device.
//!
//! An [`Executor`] owns a [`Backend`](hologram_backends::Backend); [`Buffer`]s live in its memory and are
//! freed when dropped; the functions of [`ops`] work on them where they are. [`Tensor`]s add shapes
//! and views. Everything here may be used from many threads.
#![warn(missing_docs)]

pub mod buffer;
pub mod device;
pub mod element;
pub mod error;
pub mod executor;
pub mod expression;
pub mod layout;
pub mod ops;
pub mod stats;
pub mod strided;
pub mod tensor;

pub use buffer::{Buffer, DynBuffer, Span};
pub use device::BackendType;
pub use element::{Element, Float, Number, Signed};
pub use error::{Error, Result};
pub use executor::Executor;
pub use hologram_backends::metal::Fallback;
pub use layout::{broadcast_shapes, Layout};
pub use stats::Stats;
pub use tensor::Tensor;
