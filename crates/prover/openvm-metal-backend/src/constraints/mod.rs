//! Batched zerocheck and LogUp: round 0, MLE rounds (docs/design/constraints.md).

mod air_data;
mod claims;
mod column_layout;
mod column_set;
mod column_stride;
mod columns;
mod eval_field;
mod evaluations;
pub mod generated;
mod input;
mod interpreter;
mod leaves;
mod logup;
mod mle;
mod next_openings;
mod pass;
mod plan;
mod planned;
mod prover;
mod round0;
mod round_poly;
mod sums;
#[cfg(test)]
pub(crate) mod tests;
mod trace_plan;
mod univariate;
mod univariate_round;
mod weights;

pub use self::{
    air_data::AirDataMetal,
    generated::{KernelReport, PlannedSections},
    input::{ConstraintInput, PartInput, TraceInput},
    planned::PlannedConstraints,
    prover::{prove_constraints, ConstraintOutput},
};
pub(crate) use self::{
    column_stride::column_stride,
    eval_field::EvalField,
    plan::{target_points, worth_a_launch},
};
