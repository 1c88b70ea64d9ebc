//! Parameter struct of the grinding kernel.

use crate::prelude::F;

/// Candidates for the sponge in device memory.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GrindSpongeParams {
    pub mask: u32,
    pub slot: u32,
    pub first: u32,
    /// Candidates from the first one on are a multiple of the threads.
    pub end: u32,
    pub threads: u32,
    pub unused: [u32; 3],
}

/// One slice of proof-of-work candidates.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GrindParams {
    pub state: [F; 16],
    pub position: u32,
    pub mask: u32,
    pub start: u32,
    pub threads: u32,
}
