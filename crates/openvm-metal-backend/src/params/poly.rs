//! Parameters of the kernels under `metal/poly`, `metal/grind` and `metal/bench`.

use crate::prelude::{EF, F};

/// Most variables of a tensor table, `POLY_MAX_VARS` in `metal/poly/params.h`.
pub const POLY_MAX_VARS: usize = 32;

/// Weights of a tensor table and how it is split in two factors.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct PolyTensorParams {
    pub scale: EF,
    pub w0: [EF; POLY_MAX_VARS],
    pub w1: [EF; POLY_MAX_VARS],
    pub low_bits: u32,
    pub high_bits: u32,
    pub threads: u32,
    pub pad: u32,
}

/// Outer product of two factor tables.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PolyOuterParams {
    pub len: u64,
    pub low_bits: u32,
    pub rows_per_thread: u32,
    pub threads: u32,
    pub pad: u32,
}

/// Sums and inner products over equally long segments.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PolyReduceParams {
    pub len: u64,
    pub stride: u64,
    pub block_len: u64,
    pub blocks: u32,
    pub pad: u32,
}

/// Inner products with a tensor table given by its factors.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PolyTensorDotParams {
    pub len: u64,
    pub stride: u64,
    pub low_bits: u32,
    pub rows_per_block: u32,
    pub blocks: u32,
    pub pad: u32,
}

/// Fold of the lowest variable.
#[repr(C, align(16))]
#[derive(Clone, Copy, Debug)]
pub struct PolyFoldParams {
    pub r: EF,
    pub threads: u32,
    pub pad: [u32; 3],
}

/// Prefix sums.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PolyScanParams {
    pub len: u64,
}

/// One pass of the subset-sum transform.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PolyZetaParams {
    pub first_bit: u32,
    pub bits: u32,
    pub run_bits: u32,
    pub subtract: u32,
}

/// Transform of chunks of `2^log_chunk` elements.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PolyChunkParams {
    pub root_inv: F,
    pub scale: F,
    pub log_chunk: u32,
    pub log_tile: u32,
    pub zeta_tile: u32,
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

/// The kernels that measure peaks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BenchParams {
    pub threads: u32,
    pub rounds: u32,
}
