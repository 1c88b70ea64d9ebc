//! `TraceArena`: memory for the records that preflight writes of a chip.

use openvm_circuit::arch::{Arena, DenseRecordArena, MatrixRecordArena, RecordArena};
use openvm_metal_tracegen::RowChip;

use crate::prelude::F;

/// Records of a chip.
pub enum TraceArena {
    /// Records at the start of their rows, which OpenVM's CPU chip completes.
    Rows(MatrixRecordArena<F>),
    /// Records one after another, for a chip whose rows the device makes.
    Records(Records),
}

/// Records one after another.
pub struct Records {
    arena: DenseRecordArena,
    /// Position that no record begins at: there are records for all rows then.
    end: u64,
}

impl TraceArena {
    /// An arena for records of a chip whose trace has so many rows.
    pub(super) fn records(chip: &RowChip, rows: usize) -> Self {
        let bytes = rows * chip.record_bytes();
        // The last record may be the largest one.
        let arena = DenseRecordArena::with_byte_capacity(bytes + chip.most_record_bytes());
        let end = arena.records_buffer.position() + bytes as u64;
        Self::Records(Records { arena, end })
    }
}

impl Records {
    /// Bytes of all records.
    pub(super) fn bytes(&self) -> &[u8] {
        self.arena.allocated()
    }
}

impl Default for TraceArena {
    fn default() -> Self {
        Self::Rows(MatrixRecordArena::default())
    }
}

impl Arena for TraceArena {
    fn with_capacity(height: usize, width: usize) -> Self {
        Self::Rows(MatrixRecordArena::with_capacity(height, width))
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Rows(arena) => arena.is_empty(),
            Self::Records(records) => records.arena.is_empty(),
        }
    }
}

impl<'a, Layout, Record> RecordArena<'a, Layout, Record> for TraceArena
where
    MatrixRecordArena<F>: RecordArena<'a, Layout, Record>,
    DenseRecordArena: RecordArena<'a, Layout, Record>,
{
    #[inline(always)]
    fn alloc(&'a mut self, layout: Layout) -> Record {
        match self {
            Self::Rows(arena) => arena.alloc(layout),
            Self::Records(records) => {
                // OpenVM's arena does not look at its capacity.
                let position = records.arena.records_buffer.position();
                assert!(position < records.end, "a record for each row of the trace");
                records.arena.alloc(layout)
            }
        }
    }
}
