//! `RowChip`: a chip that has one record for each row.

use openvm_circuit::arch::{MatrixRecordArena, RowMajorMatrixArena};
use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalError};
use p3_baby_bear::BabyBear as F;

use crate::params::ChipParams;

/// Launcher of a chip's kernel: records, trace, counts.
pub(crate) type Launch = fn(
    &CommandStream,
    Grid,
    &MetalBuffer<u32>,
    &mut MetalBuffer<F>,
    &mut MetalBuffer<u32>,
    &ChipParams,
) -> Result<(), MetalError>;

/// A chip with one record for each row. A record is the adapter's and then the core's, in words of 4 bytes.
pub struct RowChip {
    /// Name of OpenVM's chip.
    pub name: &'static str,
    /// Words of the adapter's record.
    pub adapter_words: usize,
    /// Words of the core's record.
    pub core_words: usize,
    /// Columns of the adapter.
    pub adapter_columns: usize,
    /// Columns of the trace.
    pub columns: usize,
    pub(crate) launch: Launch,
}

impl RowChip {
    /// Bytes of a record.
    pub const fn record_bytes(&self) -> usize {
        4 * (self.adapter_words + self.core_words)
    }

    /// The records in the form that OpenVM's CPU chip reads: each at the start of its row, the core's at the start of its columns.
    ///
    /// # Panics
    /// If the length is no multiple of a record's.
    pub fn rows_for_host(&self, records: &[u8]) -> MatrixRecordArena<F> {
        let size = self.record_bytes();
        assert_eq!(records.len() % size, 0, "records of {}", self.name);
        let mut arena = <MatrixRecordArena<F> as openvm_circuit::arch::Arena>::with_capacity(
            records.len() / size,
            self.columns,
        );
        let (adapter, core) = (4 * self.adapter_words, 4 * self.adapter_columns);
        for record in records.chunks_exact(size) {
            let row = arena.alloc_single_row();
            row[..adapter].copy_from_slice(&record[..adapter]);
            row[core..core + size - adapter].copy_from_slice(&record[adapter..]);
        }
        debug_assert_eq!(arena.width(), self.columns);
        arena
    }
}

impl std::fmt::Debug for RowChip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RowChip({})", self.name)
    }
}

/// Threads of a launch: one a row.
pub(crate) fn grid(height: usize) -> Grid {
    Grid::threads(height)
}
