//! Inputs and outputs of the rounds over the hypercube.

use crate::{
    constraints::{
        claims::{Factors, TraceSums},
        plan::{Plan, Resident},
        sums::EqTables,
        weights::Weights,
    },
    prelude::EF,
};

/// Inputs of the rounds after the univariate one.
pub struct RoundInputs<'a> {
    pub plan: &'a Plan,
    pub resident: &'a Resident,
    pub weights: &'a Weights,
    pub eq: &'a EqTables,
    /// The coordinate of each round's variable.
    pub xi: &'a [EF],
    /// Sums of each trace before the first round.
    pub sums: Vec<TraceSums>,
    /// Weights of the sums of each trace.
    pub factors: Vec<Factors>,
    /// The univariate factors of eq and eq_sharp, for zerocheck and LogUp.
    pub eq_at_r_0: [EF; 2],
}

/// Outputs of the rounds.
#[derive(Default)]
pub struct RoundMessages {
    /// For each round the values of its polynomial at `1, .., degree + 1`.
    pub polys: Vec<Vec<EF>>,
    /// The challenge of each round.
    pub challenges: Vec<EF>,
}

impl RoundInputs<'_> {
    /// Rounds of the tallest trace.
    pub fn rounds(&self) -> usize {
        self.plan.traces.first().map_or(0, |trace| trace.n_lift)
    }

    /// Most degree of a sum in one variable.
    pub fn degree(&self) -> usize {
        self.plan.input.max_constraint_degree
    }
}
