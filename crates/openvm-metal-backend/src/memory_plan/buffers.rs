//! The buffers that phases allocate in one piece, against the largest that the device has.

use openvm_metal_common::DeviceProfile;

use super::{constraints, openings, shape::ProofShape, BASE, DIGEST, EXT};
use crate::{config::MetalProverConfig, error::MetalProverError};

/// A buffer that a phase allocates in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedBuffer {
    /// The stage that allocates it.
    pub stage: &'static str,
    pub what: &'static str,
    /// Cells of a column.
    pub rows: u64,
    pub columns: u64,
    pub cell_bytes: u64,
}

impl PlannedBuffer {
    /// A matrix of field elements.
    pub(crate) fn matrix(stage: &'static str, what: &'static str, rows: u64, columns: u64) -> Self {
        Self {
            stage,
            what,
            rows,
            columns,
            cell_bytes: BASE,
        }
    }

    fn column(stage: &'static str, what: &'static str, rows: u64, cell_bytes: u64) -> Self {
        Self {
            stage,
            what,
            rows,
            columns: 1,
            cell_bytes,
        }
    }

    /// The codewords of `columns` stacked columns.
    pub(crate) fn code(log_rows: usize, columns: u64) -> Self {
        let rows = 1u64.checked_shl(log_rows as u32).unwrap_or(u64::MAX);
        Self::matrix("prover.commit", "the codeword matrix", rows, columns)
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        let cells = self.rows.saturating_mul(self.columns);
        cells.saturating_mul(self.cell_bytes)
    }

    /// Refuses a buffer that the device does not have.
    ///
    /// # Errors
    /// [`MetalProverError::BufferLimit`].
    pub(crate) fn check(&self, profile: &DeviceProfile) -> Result<(), MetalProverError> {
        if profile.has_buffer(self.bytes()) {
            return Ok(());
        }
        Err(MetalProverError::BufferLimit {
            buffer: *self,
            limit: profile.max_buffer,
        })
    }
}

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
        PlannedBuffer::code(log_code, shape.common_cells >> shape.log_height),
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
        PlannedBuffer::matrix(WHIR, "codewords encoded again", 1 << log_code, whir.again),
    ]
}
