//! Programs on devices of `openvm-metal-common`: the one in `OPENVM_METAL_DEVICE`, else the CPU in both modes.

mod calls;
mod faults;
mod memory;
mod programs;
mod sorts;
mod support;
