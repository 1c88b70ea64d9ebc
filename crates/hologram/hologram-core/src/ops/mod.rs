//! Operations on buffers, run where the buffers are.
//!
//! Outputs are taken by shared reference, as buffers are memory of a device: an element-wise
//! operation may write over one of its inputs. `n` is the number of elements used; buffers may be
//! longer. [`raw`] has the same operations for types known at run time and for parts of buffers.

pub mod activation;
pub mod linalg;
pub mod loss;
pub mod math;
pub mod memory;
pub mod raw;
pub mod reduce;
pub mod strided;
