//! Estimate of the peak memory of a proof, phase by phase, so that a proof that cannot fit is refused
//! before it starts.
//!
//! The bills count what each phase allocates, in the same terms as the phase itself; `tests/memory.rs`
//! compares them with measured peaks.

mod buffers;
mod constraints;
mod openings;
mod shape;

use std::fmt;

use openvm_stark_backend::prover::{DeviceMultiStarkProvingKey, ProvingContext};

pub use self::buffers::PlannedBuffer;
use self::shape::ProofShape;
use crate::{
    backend::MetalBackend,
    config::MetalProverConfig,
    device::MetalDevice,
    error::MetalProverError,
    prelude::{DIGEST_SIZE, D_EF},
};

const BASE: u64 = 4;
const EXT: u64 = BASE * D_EF as u64;
const DIGEST: u64 = BASE * DIGEST_SIZE as u64;
/// Parameters, small tables and results.
const FIXED: u64 = 2 << 20;

/// Estimated device memory of one proof, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// Inputs: traces, and traces committed before with their codewords.
    pub inputs: u64,
    /// The commitment of the common main traces, kept to the end as far as it is kept.
    pub commitment: u64,
    /// What each phase needs on top, by the name of its stage.
    pub phases: Vec<(&'static str, u64)>,
    /// The buffers that grow with the input and are allocated in one piece.
    pub buffers: Vec<PlannedBuffer>,
}

impl MemoryEstimate {
    /// Bytes of the budget that the pool may hold without being able to use them: the segment for small buffers
    /// (8 MiB) and rests of large segments that the next large buffer does not fit into.
    pub const POOL_OVERHEAD: u64 = 16 << 20;

    /// What of a pool's budget proofs can be planned with.
    pub(crate) fn plannable(budget: u64) -> u64 {
        budget.saturating_sub(Self::POOL_OVERHEAD)
    }

    /// The estimate of a proof on a device.
    ///
    /// # Errors
    /// If the device could not be opened.
    pub(crate) fn of(
        device: &MetalDevice,
        mpk: &DeviceMultiStarkProvingKey<MetalBackend>,
        ctx: &ProvingContext<MetalBackend>,
    ) -> Result<Self, MetalProverError> {
        let shape = ProofShape::new(device, mpk, ctx)?;
        Ok(Self::new(&shape, device.prover_config()))
    }

    fn new(shape: &ProofShape, config: &MetalProverConfig) -> Self {
        let inputs = (shape.trace_cells + shape.committed_cells) * BASE
            + shape.code_bytes(shape.committed_cells, shape.committed_parts);
        let commitment = shape.code_bytes(shape.common_cells, 1) + shape.copied_cells * BASE
            - shape.dropped_bytes;
        let commit =
            shape.dropped_bytes + shape.encode_scratch().max(2 * shape.row_digests() * DIGEST);
        let phases = vec![
            (
                "prover.commit",
                commit + shape.overlap(inputs + commitment + commit),
            ),
            (
                "prover.rap_constraints.logup_gkr",
                constraints::gkr(shape, config),
            ),
            (
                "prover.rap_constraints.round0",
                constraints::round0(shape, config),
            ),
            (
                "prover.rap_constraints.mle_rounds",
                constraints::mle_rounds(shape),
            ),
            (
                "prover.openings.stacked_reduction",
                openings::stacked_reduction(shape),
            ),
            ("prover.openings.whir", openings::whir(shape)),
        ];
        Self {
            inputs,
            commitment,
            phases,
            buffers: buffers::buffers(shape, config),
        }
    }

    /// The largest buffer.
    pub fn largest_buffer(&self) -> Option<&PlannedBuffer> {
        self.buffers.iter().max_by_key(|buffer| buffer.bytes())
    }

    /// Bytes at the peak.
    pub fn peak(&self) -> u64 {
        let phase = self
            .phases
            .iter()
            .map(|&(_, bytes)| bytes)
            .max()
            .unwrap_or(0);
        let sum = self.inputs + self.commitment + phase;
        // Rounding to allocation sizes.
        sum + sum / 32 + FIXED
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
