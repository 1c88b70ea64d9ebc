//! The tables that the sumcheck of a round runs over: those of the first round, or of a later one.

use openvm_metal_common::CommandStream;

use super::{
    first_round::FirstRound,
    state::{State, Table},
};
use crate::{
    error::MetalProverError,
    prelude::EF,
    tensor::{self, BitWeight},
};

/// The sumcheck of a round.
pub(super) enum Sumcheck {
    /// Weights that are still one product.
    First(FirstRound),
    Later(State),
}

/// `g = f(alpha, .)` after the challenges of a round.
pub(super) struct Folded {
    /// The coefficients.
    pub coefficients: Table,
    /// The weights, as far as they are a table.
    pub weights: Option<Table>,
    /// Weights in product form that add to them, each with its scale.
    pub terms: Vec<(Vec<BitWeight>, EF)>,
}

impl Sumcheck {
    /// The round polynomial at 1 and 2.
    pub fn round_evals(&mut self, s: &CommandStream) -> Result<[EF; 2], MetalProverError> {
        match self {
            Self::First(first) => Ok(first.round_evals()),
            Self::Later(state) => state.round_evals(s),
        }
    }

    /// Binds the lowest variable.
    pub fn fold(&mut self, s: &CommandStream, alpha: EF) -> Result<(), MetalProverError> {
        match self {
            Self::First(first) => {
                first.fold(alpha);
                Ok(())
            }
            Self::Later(state) => state.fold(s, alpha),
        }
    }

    /// The folded tables. `rest` are the coordinates of the opened point that the first round leaves.
    pub fn finish(self, s: &CommandStream, rest: &[EF]) -> Result<Folded, MetalProverError> {
        Ok(match self {
            Self::First(first) => {
                let (coefficients, scale) = first.finish(s)?;
                Folded {
                    coefficients: Table::Device(coefficients),
                    weights: None,
                    terms: vec![(tensor::eq_bits(rest), scale)],
                }
            }
            Self::Later(state) => {
                let (coefficients, weights) = state.into_tables(s)?;
                Folded {
                    coefficients,
                    weights: Some(weights),
                    terms: Vec::new(),
                }
            }
        })
    }
}
