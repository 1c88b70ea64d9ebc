//! Batched zerocheck and LogUp: round 0, MLE rounds (docs/constraints.md).

mod air_data;
mod column_set;
mod columns;
mod input;
mod interpreter;
mod leaves;
mod logup;
mod mle;
mod next_openings;
mod pass;
mod plan;
mod prover;
mod round0;
mod sums;
mod tail;
#[cfg(test)]
mod tests;
mod univariate;
mod weights;

pub(crate) use self::plan::target_points;
pub use self::{
    air_data::AirDataMetal,
    input::{ConstraintInput, PartInput, TraceInput},
    prover::{prove_constraints, ConstraintOutput},
};
