//! Parameter structs of the opening kernels.

use openvm_metal_common::DeviceElem;

use crate::prelude::EF;

/// Neighbouring columns of one length in a range of a stacked matrix.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct StackedColumnJob {
    /// First cell of the first column, relative to the range.
    pub cells: u64,
    /// First element of the output.
    pub out: u64,
    /// Column length, as a logarithm.
    pub log_rows: u32,
    /// Number of columns.
    pub columns: u32,
    /// Index of the first column among all columns.
    pub weight: u32,
    /// Threadgroups of earlier jobs.
    pub first_group: u32,
    /// Rows of one threadgroup, as a logarithm.
    pub log_block: u32,
    /// Columns of one threadgroup.
    pub chunk: u32,
    /// 1: add to what the output holds.
    pub accumulate: u32,
    /// 1: some column is opened at its rotation too.
    pub rotated: u32,
    /// Number of the range among the sources.
    pub source: u32,
    pub unused: u32,
}

// SAFETY: two u64 and ten u32, no padding.
unsafe impl DeviceElem for StackedColumnJob {}

/// The tables of one height, or slots that are added up.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct StackedTableJob {
    /// First element that is read.
    pub from: u64,
    /// First element that is written.
    pub to: u64,
    /// Points or pairs of the job; elements of a slot.
    pub len: u32,
    /// Threadgroups of earlier jobs.
    pub first_group: u32,
    /// Slots that are added up.
    pub slots: u32,
    /// Variables of a table of weights.
    pub log_len: u32,
}

// SAFETY: two u64 and four u32, no padding.
unsafe impl DeviceElem for StackedTableJob {}

/// A block of the stacked matrices in a round: the fold of a pair of the round before, or a column that has just been bound to one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct StackedBlock {
    /// The pair, or the first share of the column's value; [`Self::NONE`]: a block of zeros.
    pub from: u32,
    /// Index of the column among all columns, or [`Self::NONE`].
    pub column: u32,
    /// Index of the column's two factors.
    pub factors: u32,
}

// SAFETY: three u32, no padding.
unsafe impl DeviceElem for StackedBlock {}

impl StackedBlock {
    /// No pair, no column: `STACKED_NONE` of `metal/openings/params.h`.
    pub const NONE: u32 = u32::MAX;
    /// A block of zeros.
    pub const ZERO: Self = Self {
        from: Self::NONE,
        column: Self::NONE,
        factors: 0,
    };
}

/// Weights of the rows of columns: a table and a product over the index bits above it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StackedWeightParams {
    /// Number of weights.
    pub len: u32,
    /// Entries of the base, as a logarithm.
    pub log_base: u32,
    /// Number of coordinates of the index bits above the base.
    pub bits: u32,
    /// First of these coordinates.
    pub first: u32,
}

/// The values of bound columns.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StackedValueParams {
    /// Entries of the low weights, as a logarithm.
    pub log_low: u32,
    /// 1: ranges begin at multiples of four cells in memory.
    pub quads: u32,
}

/// One round of the reduction, for all heights.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StackedRoundParams {
    /// Pairs of one threadgroup.
    pub block: u32,
    pub l_skip: u32,
    /// From 1 on.
    pub round: u32,
    pub unused: u32,
}

/// One round over the blocks of columns that are bound to one value.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StackedBlocksParams {
    /// Pairs of blocks.
    pub pairs: u32,
    /// Summands of a column's value, as a logarithm.
    pub log_shares: u32,
    /// From 1 on.
    pub round: u32,
    /// Pairs of one threadgroup.
    pub block: u32,
}

/// The end of a round of the reduction.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct StackedFinishParams {
    /// Coordinate of the variable of the round.
    pub r: EF,
    /// That of the next round.
    pub next: EF,
    /// Threadgroups that left sums.
    pub groups: u32,
    /// From 1 on.
    pub round: u32,
    pub unused: [u32; 2],
}

/// Parameters that kernels over [`StackedTableJob`]s share.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StackedTableParams {
    /// Points, or words, of one threadgroup.
    pub block: u32,
    pub l_skip: u32,
    /// Variables of the low weights at most.
    pub log_low: u32,
    pub unused: u32,
}

/// Sum over high index bits of up to three tables.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OpeningsContractParams {
    /// First elements of the input tables.
    pub offsets: [u64; 3],
    /// Number of input tables, 1 to 3.
    pub tables: u32,
    /// Products summed up for each output.
    pub terms: u32,
    /// Outputs of each table.
    pub len: u32,
    /// Index of the first weight.
    pub weights: u32,
}

/// Sum over low index bits of a table.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OpeningsFoldParams {
    /// Number of outputs.
    pub len: u32,
    /// Neighbouring inputs of an output, as a logarithm.
    pub log_block: u32,
    /// Index of the first weight.
    pub weights: u32,
    /// Distance of neighbouring outputs.
    pub out_stride: u32,
}

/// Batching of stacked columns by powers of mu.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WhirBatchParams {
    /// Cells of the range.
    pub len: u64,
    /// Index of its first cell in the stacked matrix.
    pub start: u64,
    /// Height of the stacked matrix, as a logarithm.
    pub log_height: u32,
    /// Rows of one threadgroup, as a logarithm.
    pub log_block: u32,
    /// Stacked columns of earlier commitments.
    pub first_column: u32,
    /// 1: add to what the output holds.
    pub accumulate: u32,
}

/// Sums of a round of the WHIR sumcheck.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WhirRoundParams {
    /// Pairs of one threadgroup.
    pub block: u32,
}

/// A fold of the tables of the WHIR sumcheck.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WhirFoldParams {
    /// Challenge to fold by.
    pub r: EF,
    /// Pairs of one threadgroup if the round is summed, else elements of a folded table.
    pub count: u32,
    pub unused: [u32; 3],
}

/// The update of the WHIR weights after a query phase.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct WhirWeightParams {
    /// Number of queries.
    pub queries: u32,
    /// Entries of a low power table, as a logarithm.
    pub log_low: u32,
    /// Entries of a high power table, as a logarithm.
    pub log_high: u32,
    /// Products of two extension tables.
    pub terms: u32,
    /// 1: add to what the table holds.
    pub accumulate: u32,
    /// Low entries of one threadgroup.
    pub block: u32,
}
