//! Parameter structs of the constraint kernels: see `metal/constraints/params.h` for the meaning of the
//! fields. Words are 4 bytes.

use openvm_metal_common::DeviceElem;

use crate::prelude::{EF, F};

/// One encoded instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(16))]
pub struct ConstraintInstruction {
    pub head: u32,
    pub a: u32,
    pub b: u32,
    pub c: u32,
}

/// A column (or selector) to read from the traces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ConstraintColumn {
    pub first: u64,
    pub source: u32,
    pub column: u32,
    pub next_column: u32,
    pub unused: u32,
}

/// Columns of one trace to extend, copy or fold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ConstraintColumnJob {
    pub dst: u64,
    pub coset_stride: u64,
    pub first_group: u32,
    pub first_column: u32,
    pub threads: u32,
    pub log_points: u32,
    pub first_point: u32,
    pub height_mask: u32,
    pub column_stride: u32,
    pub cosets: u32,
}

/// Parameters of the kernels over columns.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ConstraintColumnParams {
    pub l_skip: u32,
    pub block: u32,
    pub first_source: u32,
    pub unused: u32,
}

/// Points at which a range of a program is evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ConstraintEvalJob {
    pub arena: u64,
    pub partials: u64,
    pub first_group: u32,
    pub points: u32,
    pub column_stride: u32,
    pub plane_stride: u32,
    pub code_begin: u32,
    pub code_end: u32,
    pub coefficients: u32,
    pub uniforms: u32,
    pub accumulators: u32,
    pub step: u32,
    pub half_rows: u32,
    pub leaves: u32,
    pub norm: u32,
    pub unused: u32,
}

/// Parameters of the evaluators.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct ConstraintEvalParams {
    pub block: u32,
    pub spill_slots: u32,
}

/// Parameters of a kernel of rules; see `metal/constraints/rules.h`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct RuleParams {
    pub arena: u64,
    pub arena_stride: u64,
    pub partials: u64,
    pub partials_stride: u64,
    pub section_stride: u64,
    pub column_stride: u32,
    pub plane_stride: u32,
    pub threads: u32,
    pub log_group: u32,
    pub log_threads: u32,
    pub jobs: u32,
    pub sections: u32,
    pub table: u32,
    pub operands: u32,
    pub coefficients: u32,
    pub uniforms: u32,
    pub unused: u32,
}

/// One interaction of the GKR input layer.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct ConstraintLeaf {
    pub constant_term: EF,
    pub first: u64,
    pub unused: u64,
}

/// One weighted sum of evaluations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ConstraintSumJob {
    pub partials: u64,
    pub plane_stride: u32,
    pub length: u32,
    pub sections: u32,
    pub section_stride: u32,
    pub weights: u32,
    pub unused: u32,
}

/// One eq table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ConstraintEqJob {
    pub out: u64,
    pub first_group: u32,
    pub vars: u32,
    pub point: u32,
    pub reversed: u32,
}

/// Place of an interaction among all stacked interactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ConstraintPlace {
    pub place: u32,
    pub first: u32,
    pub bits: u32,
}

/// A summand of a LogUp weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ConstraintWeightTerm {
    pub interaction: u32,
    pub power: u32,
    pub factor: F,
}

/// Fold of pairs of rows of one trace's columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ConstraintFoldJob {
    pub arena: u64,
    pub first_group: u32,
    pub threads: u32,
    pub log_half: u32,
    pub plane_stride: u32,
}

/// Parameters of the eq tables.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ConstraintEqParams {
    pub stride: u32,
    pub block: u32,
}

/// Parameters of the fold.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ConstraintFoldParams {
    pub r: u32,
    pub block: u32,
}

/// A claim as a round over the hypercube takes it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct ConstraintClaim {
    pub factor: EF,
    pub degree: u32,
    pub variables: u32,
    pub logup: u32,
    pub unused: u32,
}

/// Parameters of the end of a round.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(16))]
pub struct ConstraintFinishParams {
    pub xi: EF,
    pub inverse: EF,
    pub inverse_factorials: [F; 8],
    pub claims: u32,
    pub round: u32,
    pub degree: u32,
    pub at: u32,
}

/// A column that is folded to one element: its opening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ConstraintOpening {
    pub arena: u64,
    pub plane_stride: u32,
    pub unused: u32,
}

macro_rules! plain_data {
    ($($t:ty),*) => {
        // SAFETY: integers and field elements laid out without padding; every bit pattern is a value.
        $(unsafe impl DeviceElem for $t {})*
    };
}
plain_data!(
    ConstraintInstruction,
    ConstraintColumn,
    ConstraintColumnJob,
    ConstraintEvalJob,
    ConstraintLeaf,
    ConstraintSumJob,
    ConstraintEqJob,
    ConstraintPlace,
    ConstraintWeightTerm,
    ConstraintFoldJob,
    ConstraintClaim,
    ConstraintOpening
);
