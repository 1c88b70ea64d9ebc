//! The transcript's sponge in device memory, and parameters of its kernel.

use openvm_metal_common::DeviceElem;

use crate::prelude::F;

/// A duplex sponge over Poseidon2 between two operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TranscriptState {
    /// All elements.
    pub cells: [F; 16],
    /// Next element to be overwritten, below 8.
    pub absorb_idx: u32,
    /// Elements that are left to be sampled, at most 8.
    pub sample_idx: u32,
    /// Padding.
    pub pad: [u32; 2],
}

// SAFETY: twenty words, no padding; any word may be read as an `F`.
unsafe impl DeviceElem for TranscriptState {}

/// Words to observe, then to sample.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TranscriptStepParams {
    pub observed: u32,
    pub sampled: u32,
}
