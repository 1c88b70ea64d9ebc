//! `RowChip`: a chip that has one record for each row.

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
}

impl std::fmt::Debug for RowChip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RowChip({})", self.name)
    }
}
