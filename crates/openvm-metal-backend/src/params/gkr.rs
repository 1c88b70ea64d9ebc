//! Parameter structs of the GKR kernels.

use p3_field::PrimeCharacteristicRing;

use crate::prelude::EF;

/// Most coordinates of an eq heap.
pub const GKR_MAX_VARS: usize = 32;

/// Of `gkr_eq_heaps`.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct GkrEqParams {
    /// Coordinates of the low heap, last one first.
    pub low: [EF; GKR_MAX_VARS],
    /// Coordinates of the high heap, last one first.
    pub high: [EF; GKR_MAX_VARS],
    /// Entries of the low heap, which comes first; 0 if there is none.
    pub low_entries: u32,
    /// Entries of both heaps.
    pub entries: u32,
    /// Coordinates to look at: the larger number of levels of the two.
    pub levels: u32,
    /// Padding.
    pub unused: u32,
}

impl Default for GkrEqParams {
    fn default() -> Self {
        Self {
            low: [EF::ZERO; GKR_MAX_VARS],
            high: [EF::ZERO; GKR_MAX_VARS],
            low_entries: 0,
            entries: 0,
            levels: 0,
            unused: 0,
        }
    }
}

/// Of `gkr_build_leaves` and `gkr_build_planes`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
pub struct GkrBuildParams {
    /// Groups of four nodes of the layer that is read.
    pub quads: u64,
    /// Padding.
    pub unused: u64,
}

/// Of the kernels that evaluate one round of a layer's sumcheck.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
pub struct GkrRoundParams {
    /// Batches denominators with numerators (first two rounds only).
    pub lambda: EF,
    /// Challenge of the round before (not in the first round).
    pub r: EF,
    /// Pairs of the table that is evaluated.
    pub pairs: u64,
    /// Pairs for each threadgroup, a power of two.
    pub chunk: u32,
    /// First entry of the low eq table.
    pub eq_low: u32,
    /// Its log size if the weight is a product of two tables.
    pub low_vars: u32,
    /// First entry of the high eq table.
    pub eq_high: u32,
    /// 1 if the weight of pair `y` is `low[y mod 2^low_vars] * high[y >> low_vars]`, else `low[y]`.
    pub split: u32,
    /// 1 to evaluate at 1 in place of 0.
    pub at_one: u32,
}
