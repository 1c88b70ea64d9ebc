//! The virtual machine of a program: chips whose traces are made on the host and brought to the engine's device.

mod builder;
mod checked;
mod chip;
mod guest_config;
mod one_thread;
mod poseidon2;
mod upload;

pub use builder::MetalVmBuilder;
pub(crate) use checked::exits;
pub use checked::CheckedExecutor;
pub use chip::TransportedChip;
pub(crate) use guest_config::{GuestConfig, GuestVmBuilder};
pub use upload::Uploader;
