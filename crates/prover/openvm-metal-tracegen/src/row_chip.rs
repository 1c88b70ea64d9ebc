//! `RowChip`: a chip whose rows are made of records.

use openvm_circuit_primitives::{
    bitwise_op_lookup::SharedBitwiseOperationLookupChip, range_tuple::SharedRangeTupleCheckerChip,
};
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

/// A chip whose rows are made of records. A record is the adapter's and then the core's, in words of 4 bytes; a chip without adapter has a
/// core alone. Words of each row may follow.
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
    /// Rows of a record on the device.
    pub rows_per_record: usize,
    /// Words of each row, of a chip whose records differ in size. The first word of such a record is the number of its rows.
    pub row_words: Option<RowWords>,
    /// The chip that has rows of the same records, and was added just before this one.
    pub periphery: Option<&'static RowChip>,
    pub(crate) launch: Launch,
}

/// Words of the rows of records that differ in size.
#[derive(Clone, Copy, Debug)]
pub struct RowWords {
    /// Words of a row.
    pub words: usize,
    /// Most rows of a record.
    pub most: usize,
}

impl RowChip {
    /// Bytes of a record on the device: if records differ in size, of the part that one row is made of.
    pub const fn record_bytes(&self) -> usize {
        let words = self.adapter_words + self.core_words;
        match self.row_words {
            Some(row) => 4 * (words + 1 + row.words),
            None => 4 * words,
        }
    }

    /// Most bytes of a record that an execution writes.
    pub const fn most_record_bytes(&self) -> usize {
        let words = self.adapter_words + self.core_words;
        match self.row_words {
            Some(row) => 4 * (words + row.most * row.words),
            None => 4 * words,
        }
    }

    /// Records with one row each, from those of an execution whose rows have `row` words: the words of all rows, the number of the row in its
    /// record, the words of the row. Nothing if a record is cut.
    pub(crate) fn split(&self, row: RowWords, records: &[u8]) -> Option<Vec<u8>> {
        let mut rest = records;
        let mut split = Vec::with_capacity(records.len());
        while !rest.is_empty() {
            let (header, rows) =
                rest.split_at_checked(4 * (self.adapter_words + self.core_words))?;
            let count = u32::from_le_bytes(*header.first_chunk()?);
            let (rows, after) = rows.split_at_checked(count as usize * 4 * row.words)?;
            for (at, row) in (0u32..).zip(rows.chunks_exact(4 * row.words)) {
                split.extend_from_slice(header);
                split.extend_from_slice(&at.to_le_bytes());
                split.extend_from_slice(row);
            }
            rest = after;
        }
        Some(split)
    }
}

impl std::fmt::Debug for RowChip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RowChip({})", self.name)
    }
}

/// The tables that a chip's rows look up, besides the range checker.
#[derive(Clone, Default)]
pub(crate) struct Uses {
    pub bitwise: Option<SharedBitwiseOperationLookupChip<8>>,
    pub tuple: Option<SharedRangeTupleCheckerChip<2>>,
}

/// Asserts that fields of a record begin at these words, or with `columns`, that fields of columns do at these.
macro_rules! words {
    ($record:ty: $($field:ident $word:literal),* $(,)?) => {
        const _: () = { $(assert!(std::mem::offset_of!($record, $field) == 4 * $word);)* };
    };
    (columns $columns:ty: $($field:ident $(. $inner:ident)? $column:literal),* $(,)?) => {
        const _: () = { $(assert!(std::mem::offset_of!($columns, $field $(. $inner)?) == $column);)* };
    };
}

/// Chips of an extension with an adapter and a core: name, OpenVM's chip, kernel, record and columns of the adapter, of the core, and fields
/// of the core that are tables.
macro_rules! chips {
    ($($name:ident, $chip:ident, $kernel:ident, $adapter:ident $adapter_words:literal $adapter_cols:ty,
       $core:ty, $core_words:literal, $core_cols:ty $(, $table:ident $field:ident)*;)*) => {
        $(
            #[doc = concat!("`", stringify!($chip), "`.")]
            pub static $name: $crate::RowChip = {
                assert!(std::mem::size_of::<$adapter>().div_ceil(4) == $adapter_words);
                assert!(std::mem::size_of::<$core>().div_ceil(4) == $core_words);
                $crate::RowChip {
                    name: stringify!($chip),
                    adapter_words: $adapter_words,
                    core_words: $core_words,
                    adapter_columns: std::mem::size_of::<$adapter_cols>(),
                    columns: std::mem::size_of::<$adapter_cols>() + std::mem::size_of::<$core_cols>(),
                    rows_per_record: 1,
                    row_words: None,
                    periphery: None,
                    launch: |s, grid, records, trace, counts, p| $crate::kernels::$kernel(s, grid, records, trace, counts, p),
                }
            };
        )*

        /// The layout of one of OpenVM's chips, if it is here, and the tables that it counts in.
        pub(crate) fn of(chip: &dyn std::any::Any) -> Option<(&'static $crate::RowChip, $crate::row_chip::Uses)> {
            $(if let Some(chip) = chip.downcast_ref::<$chip<p3_baby_bear::BabyBear>>() {
                let _ = chip;
                #[allow(unused_mut)]
                let mut uses = $crate::row_chip::Uses::default();
                $(uses.$table = Some(chip.inner.$field.clone());)*
                return Some((&$name, uses));
            })*
            None
        }
    };
}
pub(crate) use {chips, words};
