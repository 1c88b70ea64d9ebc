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

/// Records of equal size, one after another.
pub struct Records {
    arena: DenseRecordArena,
    /// Records that still fit.
    left: usize,
}

impl TraceArena {
    /// An arena for as many records of a chip as its trace has rows.
    pub(super) fn records(chip: &RowChip, rows: usize) -> Self {
        Self::Records(Records {
            arena: DenseRecordArena::with_byte_capacity(rows * chip.record_bytes()),
            left: rows,
        })
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
                records.left = records
                    .left
                    .checked_sub(1)
                    .expect("a record for each row of the trace");
                records.arena.alloc(layout)
            }
        }
    }
}
