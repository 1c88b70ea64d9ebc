//! Batched zerocheck and LogUp: round 0, MLE rounds (docs/constraints.md).

mod air_data;
mod columns;
mod evaluator;
mod input;
mod leaves;
mod mle;
mod next_openings;
mod plan;
mod prover;
mod round0;
mod sums;
mod tail;
#[cfg(test)]
mod tests;
mod univariate;

pub(crate) use self::plan::target_points;
pub use self::{
    air_data::AirDataMetal,
    evaluator::{EvalPass, EvalPlan, EvalTables, Interpreter, Resources, RuleEvaluator},
    input::{ConstraintInput, PartInput, TraceInput},
    prover::{prove_constraints, ConstraintOutput},
};
