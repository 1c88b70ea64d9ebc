//! The system chips of a VM, with a sparse memory tree that is kept from segment to segment.
//!
//! `docs/design/program-proofs.md` describes the tree and its traces. From below upwards: `hash`
//! compresses; `shared_array` is an array whose clones share what is the same; `pages` finds the memory that a program touched and `image` copies it; `touched`
//! groups what a segment accessed; `merkle_rows` and `boundary_rows` write traces; `tree` holds
//! digests; `leaves` hashes the lowest levels; `memory` is all of that as one tree; `records`
//! lists the compressions, or counts them in the Poseidon2 chip; `chips` are the system chips.

mod boundary_rows;
mod builder;
mod chips;
mod commitment;
mod hash;
mod image;
mod leaves;
mod memory;
mod merkle_rows;
mod pages;
mod records;
mod shared_array;
#[cfg(test)]
mod tests;
mod touched;
mod tree;

pub use builder::SparseSystemBuilder;
pub use chips::{OnHost, SparseSystem, TraceUpload, TreeSlot};
pub use commitment::{exe_commit, initial_memory_root};
pub use hash::Digest;
pub(crate) use hash::State;
pub use memory::{
    HeldMemory, InitialMemoryError, MemoryPages, MemoryTraces, MemoryTree, SpaceDigests,
    TraceHeights,
};
pub(crate) use records::record;
pub use records::Compressions;
