//! Run-time half of openvm-metal: devices, buffers, command streams and memory for kernels written in
//! the Metal Shading Language.

pub mod kernel;
