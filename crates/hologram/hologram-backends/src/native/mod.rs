//! The processor as users want it: programs as compiled kernels, on memory that the host uses as it is.

mod backend;

pub use backend::{NativeBackend, NativeStats};
