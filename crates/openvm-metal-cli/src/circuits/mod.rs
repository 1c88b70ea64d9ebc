//! Built-in circuits: AIRs and traces that satisfy them.

mod committed;
mod fibonacci;
mod keccakf;
mod permutation;

use clap::ValueEnum;
use openvm_stark_backend::{
    prover::{AirProvingContext, CpuColMajorBackend, ProvingContext},
    AirRef,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config;

pub type SC = BabyBearPoseidon2Config;
type HostTrace = AirProvingContext<CpuColMajorBackend<SC>>;

/// Which circuit.
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

/// AIRs and their traces on the host.
pub struct Circuit {
    pub airs: Vec<AirRef<SC>>,
    pub ctx: ProvingContext<CpuColMajorBackend<SC>>,
}

impl Circuit {
    /// Generates a circuit of `size` permutations (Keccak-f) or rows of its tallest trace.
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
