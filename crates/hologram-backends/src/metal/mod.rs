//! Running translated programs on Metal, CUDA and CPU devices of `openvm-metal-common`.

pub mod unit;
