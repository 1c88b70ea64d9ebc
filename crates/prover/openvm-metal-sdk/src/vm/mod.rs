//! The virtual machine of a program: chips whose traces are made on the engine's device, or on the host and brought there.

mod arena;
mod builder;
mod checked;
mod chip;
mod field_expression;
mod guest_config;
mod host_chips;
mod one_thread;
mod poseidon2;
mod range_counts;
mod segment_arenas;
mod upload;

pub use arena::TraceArena;
pub use builder::MetalVmBuilder;
pub(crate) use checked::memory_bytes;
pub use checked::CheckedExecutor;
pub use chip::TransportedChip;
pub(crate) use guest_config::{GuestConfig, GuestVmBuilder};
pub(crate) use host_chips::host_chips;
pub(crate) use one_thread::OneThread;
pub(crate) use segment_arenas::segment_arenas;
pub use upload::Uploader;
