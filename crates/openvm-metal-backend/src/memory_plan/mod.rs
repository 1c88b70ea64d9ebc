//! Estimate of the peak memory of a proof, phase by phase, so that a proof that cannot fit is refused
//! before it starts.
//!
//! The bills below count what each phase allocates; `docs/engine.md` compares them with measurements.

mod shape;

use std::fmt;

pub(crate) use self::shape::ProofShape;
use crate::{
    config::MetalProverConfig,
    prelude::{DIGEST_SIZE, D_EF},
};

const BASE: u64 = 4;
const EXT: u64 = BASE * D_EF as u64;
const DIGEST: u64 = BASE * DIGEST_SIZE as u64;
/// Parameters, small tables, results, and what rounding to allocation sizes adds.
const FIXED: u64 = 4 << 20;

/// Estimated device memory of one proof, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// Inputs: traces, and traces committed before with their codewords.
    pub inputs: u64,
    /// The commitment of the common main traces, kept to the end.
    pub commitment: u64,
    /// What each phase needs on top, by the name of its stage.
    pub phases: Vec<(&'static str, u64)>,
}

impl MemoryEstimate {
    pub(crate) fn new(shape: &ProofShape, config: &MetalProverConfig) -> Self {
        let inputs = shape.trace_cells * BASE
            + shape.committed_cells * BASE
            + if shape.committed_cells > 0 {
                shape.code_bytes(shape.committed_cells)
            } else {
                0
            };
        let commitment = shape.code_bytes(shape.common_cells) + shape.copied_cells * BASE;

        // The input layer of fractions, overwritten layer by layer, and a quarter for its folds.
        let gkr = shape.fractions * 2 * EXT * 5 / 4;
        // Rows that all traces have after the first fold: equality weights per distinct height.
        let weights = (shape.distinct_rows >> shape.l_skip) * 4 * EXT;
        let round0 = config
            .constraint_scratch_bytes
            .min(shape.common_cells * EXT)
            + weights;
        // Folded matrices and the half-size matrices that they fold into.
        let mle = shape.folded_cells * EXT * 3 / 2 + weights;
        // Two batched columns and two weights for each distinct height, and their folds.
        let stacked_reduction = shape.distinct_rows * EXT * 4;
        // f and w, the folded codeword of the first round and its tree.
        let code_rows = 1u64 << (shape.log_height + shape.log_blowup);
        let whir = (2 << shape.log_height) * EXT
            + code_rows / 2 * EXT
            + ((code_rows >> (shape.k_whir + 1)) * 2 * DIGEST);
        let phases = vec![
            ("prover.commit", 0),
            ("prover.rap_constraints.logup_gkr", gkr),
            ("prover.rap_constraints.round0", round0),
            ("prover.rap_constraints.mle_rounds", mle),
            ("prover.openings.stacked_reduction", stacked_reduction),
            ("prover.openings.whir", whir),
        ];
        Self {
            inputs,
            commitment,
            phases,
        }
    }

    /// Bytes at the peak.
    pub fn peak(&self) -> u64 {
        let phase = self
            .phases
            .iter()
            .map(|&(_, bytes)| bytes)
            .max()
            .unwrap_or(0);
        self.inputs + self.commitment + phase + FIXED
    }

    /// The stage at the peak.
    pub fn peak_phase(&self) -> &'static str {
        self.phases
            .iter()
            .max_by_key(|&&(_, bytes)| bytes)
            .map_or("inputs", |&(name, _)| name)
    }
}

impl fmt::Display for MemoryEstimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "inputs {}, commitment {}", self.inputs, self.commitment)?;
        self.phases
            .iter()
            .try_for_each(|(name, bytes)| write!(f, ", {name} {bytes}"))
    }
}
