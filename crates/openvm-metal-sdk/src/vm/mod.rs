//! The virtual machine of a program: chips whose traces are made on the host and brought to the engine's device.

mod builder;
mod chip;
mod one_thread;
mod poseidon2;
mod upload;

pub use builder::MetalVmBuilder;
pub use chip::TransportedChip;
pub use upload::Uploader;
