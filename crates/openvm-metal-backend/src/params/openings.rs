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
}

// SAFETY: two u64 and eight u32, no padding.
unsafe impl DeviceElem for StackedColumnJob {}

/// Parameters of the kernels over [`StackedColumnJob`]s.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct StackedColumnParams {
    /// Number of jobs.
    pub jobs: u32,
    /// Length of the low factor of the weights, as a logarithm (column values only).
    pub log_low: u32,
}

/// Sum of slots of equal length.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OpeningsSumParams {
    /// Words of one slot.
    pub len: u64,
    /// Number of slots.
    pub slots: u32,
    pub pad: u32,
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

/// One round of the WHIR sumcheck.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct WhirRoundParams {
    /// `c' = c_0 + c_fold c_1`
    pub c_fold: EF,
    /// `w' = w_fold0 w_0 + w_fold1 w_1`
    pub w_fold0: EF,
    /// See `w_fold0`.
    pub w_fold1: EF,
    /// Pairs of the (folded) tables.
    pub pairs: u32,
    /// Pairs of one threadgroup.
    pub block: u32,
    pub pad: [u32; 2],
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
