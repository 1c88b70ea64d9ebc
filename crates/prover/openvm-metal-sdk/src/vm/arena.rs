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

impl TraceArena {
    /// Bytes from one record of a chip to the next.
    ///
    /// # Panics
    /// An arena of another chip, or records that differ in size.
    pub(crate) fn stride(&self, chip: &RowChip) -> usize {
        assert!(chip.row_words.is_none());
        match self {
            Self::Rows(arena) => {
                assert_eq!(arena.width, chip.columns, "columns of {}", chip.name);
                4 * chip.columns
            }
            Self::Records(_) => chip.record_bytes(),
        }
    }

    /// The part that no record has yet.
    pub(crate) fn free(&mut self) -> &mut [u8] {
        match self {
            Self::Rows(arena) => {
                let rows = &mut arena.trace_buffer[arena.trace_offset..];
                let bytes = size_of_val(rows);
                // SAFETY: the bytes are those of `rows`, which stay borrowed; every pattern of 4 bytes that OpenVM's chips write as records is one
                // that their field elements may hold meanwhile: these are transparent words.
                unsafe { std::slice::from_raw_parts_mut(rows.as_mut_ptr().cast(), bytes) }
            }
            Self::Records(records) => {
                let buffer = &mut records.arena.records_buffer;
                let range = buffer.position() as usize..records.end as usize;
                &mut buffer.get_mut()[range]
            }
        }
    }

    /// Notes that records are in the first `bytes` bytes of what was free.
    pub(crate) fn advance(&mut self, bytes: usize) {
        match self {
            Self::Rows(arena) => arena.trace_offset += bytes / size_of::<F>(),
            Self::Records(records) => {
                let buffer = &mut records.arena.records_buffer;
                buffer.set_position(buffer.position() + bytes as u64);
            }
        }
    }
}

impl Records {
    /// Bytes of all records.
    pub(crate) fn bytes(&self) -> &[u8] {
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
