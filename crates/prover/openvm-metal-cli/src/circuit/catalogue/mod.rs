//! Built-in circuits: AIRs and traces that satisfy them.

mod committed;
mod fibonacci;
mod keccakf;
mod permutation;

use std::fmt;

use clap::ValueEnum;
use openvm_stark_backend::{
    prover::{AirProvingContext, CpuColMajorBackend, ProvingContext},
    AirRef,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config;

pub type SC = BabyBearPoseidon2Config;
type HostTrace = AirProvingContext<CpuColMajorBackend<SC>>;

/// Name of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CircuitName {
    /// Keccak-f permutations: one wide AIR without interactions.
    Keccakf,
    /// Fibonacci numbers: one narrow, tall AIR with public values.
    Fibonacci,
    /// Columns that are permutations of each other: many LogUp interactions.
    Interactions,
    /// Traces of several heights, preprocessed and cached traces, interactions.
    Mixed,
}

impl fmt::Display for CircuitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Keccakf => "keccakf",
            Self::Fibonacci => "fibonacci",
            Self::Interactions => "interactions",
            Self::Mixed => "mixed",
        })
    }
}

/// AIRs and their traces on the host.
pub struct Circuit {
    pub airs: Vec<AirRef<SC>>,
    pub ctx: ProvingContext<CpuColMajorBackend<SC>>,
}

/// Sizes of a circuit before it is generated.
#[derive(Clone, Copy, Debug)]
pub struct Dimensions {
    /// Rows of the tallest trace.
    pub rows: usize,
    /// Columns of all traces, counted as if all were as tall.
    pub columns: usize,
}

impl Dimensions {
    /// Bytes of all traces.
    pub fn bytes(&self) -> u64 {
        (self.rows as u64).saturating_mul(4 * self.columns as u64)
    }
}

/// Sizes of a circuit of `size` permutations or rows; `None` if a number overflows.
pub fn dimensions(name: CircuitName, size: usize) -> Option<Dimensions> {
    let (rows, columns) = match name {
        CircuitName::Keccakf => keccakf::dimensions(size)?,
        CircuitName::Fibonacci => (size.checked_next_power_of_two()?, 2),
        CircuitName::Interactions => (size.checked_next_power_of_two()?, 32),
        CircuitName::Mixed => (size.checked_next_power_of_two()?.max(2), 8),
    };
    Some(Dimensions { rows, columns })
}

impl Circuit {
    /// Generates a circuit of `size` permutations (Keccak-f) or rows of its tallest trace, if it has
    /// [`dimensions`].
    pub fn new(name: CircuitName, size: usize, config: &SC) -> Self {
        let rows = size.next_power_of_two();
        let parts = match name {
            CircuitName::Keccakf => vec![keccakf::generate(size)],
            CircuitName::Fibonacci => vec![fibonacci::generate(rows)],
            CircuitName::Interactions => vec![permutation::generate(rows, 16)],
            CircuitName::Mixed => vec![
                fibonacci::generate(rows),
                permutation::generate((rows / 4).max(1), 8),
                committed::generate((rows / 16).max(1), config),
                permutation::generate(2, 1),
            ],
        };
        let (airs, traces): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
        Self {
            airs,
            ctx: ProvingContext::new(traces.into_iter().enumerate().collect()),
        }
    }
}
