//! The device memory of a proof: what is expected of it, and what it may not exceed.

use std::fmt;

use openvm_metal_common::DeviceProfile;

use crate::{
    kept_codewords::KeptCodewords,
    prelude::{DIGEST_SIZE, D_EF},
};

/// Bytes of a base element.
pub(crate) const BASE: u64 = 4;
/// Bytes of an extension element.
pub(crate) const EXT: u64 = BASE * D_EF as u64;
/// Bytes of a digest.
pub(crate) const DIGEST: u64 = BASE * DIGEST_SIZE as u64;
/// Parameters, small tables and results.
const FIXED: u64 = 2 << 20;

/// Estimated device memory of one proof, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// Inputs: traces, and traces committed before with their codewords.
    pub inputs: u64,
    /// The commitment of the common main traces, kept to the end as far as it is kept.
    pub commitment: u64,
    /// Additional bytes of each phase, by the name of its stage.
    pub phases: Vec<(&'static str, u64)>,
    /// The buffers that grow with the input and are allocated in one piece.
    pub buffers: Vec<PlannedBuffer>,
    /// Codewords that the commitment keeps.
    pub kept: KeptCodewords,
}

impl MemoryEstimate {
    /// Bytes of the budget that the pool may hold without being able to use them: the segment for small buffers
    /// (8 MiB) and rests of large segments that the next large buffer does not fit into.
    pub const POOL_OVERHEAD: u64 = 16 << 20;

    /// Part of a pool's budget that proofs can be planned with.
    pub(crate) fn plannable(budget: u64) -> u64 {
        budget.saturating_sub(Self::POOL_OVERHEAD)
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
        Self::rounded(self.inputs + self.commitment + phase)
    }

    /// Bytes of buffers with what rounding to allocation sizes adds.
    pub(crate) fn rounded(sum: u64) -> u64 {
        sum.saturating_add(sum / 32 + FIXED)
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

/// A buffer that a phase allocates in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedBuffer {
    /// The stage that allocates it.
    pub stage: &'static str,
    /// Contents of the buffer.
    pub what: &'static str,
    /// Cells of a column.
    pub rows: u64,
    /// Columns.
    pub columns: u64,
    /// Bytes of a cell.
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

    /// A single column of cells of `cell_bytes` bytes.
    pub(crate) fn column(
        stage: &'static str,
        what: &'static str,
        rows: u64,
        cell_bytes: u64,
    ) -> Self {
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

    /// The size.
    pub fn bytes(&self) -> u64 {
        let cells = self.rows.saturating_mul(self.columns);
        cells.saturating_mul(self.cell_bytes)
    }

    /// Refuses a buffer that the device does not have.
    ///
    /// # Errors
    /// [`BufferLimit`].
    pub(crate) fn check(&self, profile: &DeviceProfile) -> Result<(), BufferLimit> {
        if profile.has_buffer(self.bytes()) {
            return Ok(());
        }
        Err(BufferLimit {
            buffer: *self,
            limit: profile.max_buffer,
        })
    }
}

/// A buffer of the proof is larger than any that the device has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} of {} rows x {} columns takes {} bytes in one piece ({}), the device's largest buffer has \
     {limit}: prove shorter traces (smaller segments), or use a device with larger buffers",
    buffer.what, buffer.rows, buffer.columns, buffer.bytes(), buffer.stage)]
pub struct BufferLimit {
    /// Buffer that would be allocated.
    pub buffer: PlannedBuffer,
    /// Bytes of the largest buffer of the device.
    pub limit: u64,
}
