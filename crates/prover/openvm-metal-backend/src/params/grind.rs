//! Parameter struct of the grinding kernel.

use crate::prelude::F;

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
