//! Parameter structs of the GKR kernels.

use crate::prelude::EF;

/// Parameters of `gkr_eq_heaps`. Coordinate `t` of the point is `coordinates[first + stride * t]`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
pub struct GkrEqParams {
    pub first: u32,
    pub stride: u32,
    /// Variables of the low heap.
    pub low_vars: u32,
    /// Variables of the high heap.
    pub high_vars: u32,
    /// Last coordinates that the low heap is not over.
    pub skipped: u32,
    /// Entries of the low heap, which comes first; 0 if there is none.
    pub low_entries: u32,
    /// Entries of both heaps.
    pub entries: u32,
    /// Coordinates 1, .., `vars` are those of the heaps.
    pub vars: u32,
}

/// Parameters of `gkr_build_leaves` and `gkr_build_planes`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
pub struct GkrBuildParams {
    /// Groups of four nodes of the layer that is read.
    pub quads: u64,
    /// Number of nodes that are not padding.
    pub real: u64,
    /// Denominator of the other nodes, `0 / padding`.
    pub padding: EF,
}

/// Parameters of the kernels that evaluate one round of a layer's sumcheck.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
pub struct GkrRoundParams {
    /// Pairs of the table that is evaluated.
    pub pairs: u64,
    /// Pairs for each threadgroup, a power of two.
    pub chunk: u32,
    /// First entry of the low eq table.
    pub eq_low: u32,
    /// The log size if the weight is a product of two tables.
    pub low_vars: u32,
    /// First entry of the high eq table.
    pub eq_high: u32,
    /// 1 if the weight of pair `y` is `low[y mod 2^low_vars] * high[y >> low_vars]`, else `low[y]`.
    pub split: u32,
    /// Index of the challenge that batches denominators with numerators (first two rounds only).
    pub lambda: u32,
    /// Index of the challenge of the round before (not in the first round).
    pub r: u32,
    /// Index of the round's coordinate; if it is 0, the sum at 1 is taken in place of that at 0.
    pub xi: u32,
    /// 1: the folded rows of padding are written.
    pub stores: u32,
    pub unused: u32,
    /// Pairs that are not padding, a multiple of `chunk`.
    pub real: u64,
    pub unused2: u64,
    /// Nodes of padding are `0 / padding`; they are not read.
    pub padding: EF,
}

/// Parameters of `gkr_start_layer`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
pub struct GkrStartParams {
    /// Place of the section of the layer above in the log.
    pub previous: u32,
    /// Rounds of this layer.
    pub rounds: u32,
    /// Padding.
    pub pad: [u32; 2],
}

/// Parameters of `gkr_finish_round`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
pub struct GkrFinishParams {
    /// Threadgroups of the round.
    pub partials: u32,
    /// Index of its coordinate in the log.
    pub xi: u32,
    /// Index of the coordinate's inverse in the working memory.
    pub inverse: u32,
    /// Place of the round's log.
    pub at: u32,
}

/// Parameters of `gkr_finish_layer`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(16))]
pub struct GkrTailParams {
    /// Place of the section of the layer above in the log.
    pub previous: u32,
    /// Rounds of this layer.
    pub rounds: u32,
    /// Rows of the input columns, as a logarithm.
    pub log_rows: u32,
    /// First entry of the heap of eq tables.
    pub eq: u32,
    /// 1 if a layer follows, which is begun.
    pub next: u32,
    /// Padding.
    pub pad: [u32; 3],
}
