//! Estimate of the peak memory of a proof, phase by phase, so that a proof that cannot fit is refused
//! before it starts.
//!
//! The estimate counts what each phase allocates, in the same terms as the phase itself; `tests/memory.rs`
//! compares it with measured peaks.

mod buffers;
mod codewords;
mod constraints;
mod openings;
mod shape;

use openvm_stark_backend::prover::{DeviceMultiStarkProvingKey, ProvingContext};

pub(crate) use self::codewords::{kept_codewords, plannable};
use self::{codewords::fitting, shape::ProofShape};
use crate::{
    backend::MetalBackend,
    config::MetalProverConfig,
    device::MetalDevice,
    error::MetalProverError,
    hash::HashScheme,
    kept_codewords::KeptCodewords,
    memory::{MemoryEstimate, BASE, DIGEST},
};

/// The estimate of a proof on a device. `kept` is what the commitment keeps of its codewords, if it was made before.
///
/// # Errors
/// If the device could not be opened.
pub(crate) fn estimate<SC: HashScheme>(
    device: &MetalDevice<SC>,
    mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
    ctx: &ProvingContext<MetalBackend<SC>>,
    kept: Option<KeptCodewords>,
) -> Result<MemoryEstimate, MetalProverError> {
    let mut shape = ProofShape::new(device, mpk, ctx)?;
    let config = device.prover_config();
    if let Some(kept) = kept {
        shape.kept = kept;
        return Ok(of_shape(&shape, config));
    }
    let live = device.stream()?.context().memory().live;
    Ok(fitting(shape, config, live))
}

fn of_shape(shape: &ProofShape, config: &MetalProverConfig) -> MemoryEstimate {
    let inputs = (shape.trace_cells + shape.committed_cells) * BASE
        + shape.code_bytes(shape.committed_cells, shape.committed_parts);
    let commitment =
        shape.code_bytes(shape.common_cells, 1) + shape.copied_cells * BASE - shape.dropped_bytes();
    // What exists of the codewords that are dropped.
    let passing = match shape.kept {
        KeptCodewords::Last(_) => shape.window_bytes() + shape.row_sponges(),
        _ => shape.dropped_bytes(),
    };
    let commit = passing + shape.encode_scratch().max(2 * shape.row_digests() * DIGEST);
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
    MemoryEstimate {
        inputs,
        commitment,
        phases,
        buffers: buffers::buffers(shape, config),
        kept: shape.kept,
    }
}
