//! The buffers that phases allocate in one piece.

use super::{constraints, openings, shape::ProofShape};
use crate::{
    config::MetalProverConfig,
    memory::{PlannedBuffer, BASE, DIGEST, EXT},
};

/// Every buffer of a proof that grows with its input.
pub(super) fn buffers(shape: &ProofShape, config: &MetalProverConfig) -> Vec<PlannedBuffer> {
    const COMMIT: &str = "prover.commit";
    const GKR: &str = "prover.rap_constraints.logup_gkr";
    const ROUND0: &str = "prover.rap_constraints.round0";
    const MLE: &str = "prover.rap_constraints.mle_rounds";
    const REDUCTION: &str = "prover.openings.stacked_reduction";
    const WHIR: &str = "prover.openings.whir";
    let log_code = shape.log_height + shape.log_blowup;
    let column = PlannedBuffer::column;

    let leaves = constraints::leaves(shape, config);
    let round0 = constraints::round0_words(shape, config);
    let mle = constraints::mle_words(shape);
    let whir = openings::whir_buffers(shape);
    vec![
        PlannedBuffer::code(
            log_code,
            shape.kept.at_once(shape.width(), shape.rate) as u64,
        ),
        column(COMMIT, "copies of small traces", shape.copied_cells, BASE),
        column(COMMIT, "the Merkle tree", shape.tree_digests(), DIGEST),
        column(COMMIT, "digests of rows", shape.row_digests(), DIGEST),
        column(
            COMMIT,
            "scratch of the transform",
            shape.encode_scratch() / BASE,
            BASE,
        ),
        column(GKR, "the leaves' denominators", shape.fractions, EXT),
        column(GKR, "the layer above the leaves", shape.fractions, EXT),
        column(GKR, "columns that interactions read", leaves.arena, BASE),
        column(GKR, "spilled values", leaves.spills, BASE),
        column(ROUND0, "columns on all cosets", round0.arena, BASE),
        column(ROUND0, "results of all points", round0.results, BASE),
        column(ROUND0, "spilled values", round0.spills, BASE),
        column(
            ROUND0,
            "equality tables",
            constraints::eq_tables(shape) / EXT,
            EXT,
        ),
        column(MLE, "the folded traces", mle.arena, BASE),
        column(MLE, "results of all points", mle.results, BASE),
        column(MLE, "spilled values", mle.spills, BASE),
        column(
            REDUCTION,
            "batched columns of all heights",
            openings::batched_bytes(shape) / EXT,
            EXT,
        ),
        column(WHIR, "the batched column", 1 << shape.log_height, EXT),
        column(WHIR, "a codeword of a later round", whir.code / EXT, EXT),
        column(
            WHIR,
            "the Merkle tree of a later round",
            whir.tree / DIGEST,
            DIGEST,
        ),
        PlannedBuffer::matrix(WHIR, "columns transformed again", 1 << log_code, whir.again),
    ]
}
