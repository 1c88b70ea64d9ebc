//! `SegmentTraces`: the traces of one segment on a device.

use openvm_metal_backend::{MetalDevice, MetalMatrix, MetalProverError};
use openvm_metal_common::{Grid, MetalBuffer};
use p3_baby_bear::BabyBear as F;

use crate::{
    chips::{DeviceChips, Table},
    kernels,
    params::{ChipParams, TableParams},
    row_chip::RowChip,
};

/// Rows of the bitwise table.
const BITWISE_ROWS: usize = 1 << 16;

/// An error of a trace that the device makes.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Records that are not whole.
    #[error("the records of {chip} have {bytes} bytes, which is no multiple of {record}")]
    CutRecord {
        /// Name of the chip.
        chip: &'static str,
        /// Bytes of all records.
        bytes: usize,
        /// Bytes of one record.
        record: usize,
    },
    /// Records that are more than a trace has rows.
    #[error("{chip} has {rows} records, and a trace has at most 2^{most} rows: cut the execution into smaller segments")]
    TooManyRows {
        /// Name of the chip.
        chip: &'static str,
        /// Number of records.
        rows: usize,
        /// log2 of the most rows.
        most: u32,
    },
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] MetalProverError),
}

impl From<openvm_metal_common::MetalError> for TraceError {
    fn from(error: openvm_metal_common::MetalError) -> Self {
        Self::Device(error.into())
    }
}

/// log2 of the most rows of a trace: the two-adicity of the field.
const MAX_LOG_ROWS: u32 = 27;

/// Traces of one segment, and the counts of its lookup tables. The tables' traces are made when those of all other chips are.
pub struct SegmentTraces {
    device: MetalDevice,
    counts: MetalBuffer<u32>,
    params: ChipParams,
    tuple_rows: usize,
}

impl SegmentTraces {
    /// Counts of zero for the chips of a machine. The context of the device has this crate's [`LIBRARY`](kernels::LIBRARY).
    ///
    /// # Errors
    /// If the device cannot hold the counts.
    pub fn new(device: &MetalDevice, chips: &DeviceChips) -> Result<Self, TraceError> {
        let sizes = chips.sizes;
        let bitwise = 1usize << (sizes.range_bits + 1);
        let tuple = bitwise + 2 * BITWISE_ROWS;
        let tuple_rows = sizes.tuple.iter().map(|&n| n as usize).product::<usize>();
        let counts = MetalBuffer::zeroed(device.stream()?, tuple + tuple_rows)?;
        let params = ChipParams {
            height: 0,
            rows: 0,
            counts: counts.len() as u32,
            bitwise: bitwise as u32,
            tuple: tuple as u32,
            tuple_size: sizes.tuple[1],
            range_bits: sizes.range_bits,
            timestamp_bits: sizes.timestamp_bits,
            pointer_bits: sizes.pointer_bits,
        };
        Ok(Self {
            device: device.clone(),
            counts,
            params,
            tuple_rows,
        })
    }

    /// The trace of a chip from its records, padded with zeros to the next power of two; 0 rows without records.
    ///
    /// # Errors
    /// Records that are not whole or too many, and failures of the device.
    pub fn rows(&mut self, chip: &RowChip, records: &[u8]) -> Result<MetalMatrix<F>, TraceError> {
        let record = chip.record_bytes();
        if !records.len().is_multiple_of(record) {
            return Err(TraceError::CutRecord {
                chip: chip.name,
                bytes: records.len(),
                record,
            });
        }
        let rows = records.len() / record;
        if rows > 1 << MAX_LOG_ROWS {
            return Err(TraceError::TooManyRows {
                chip: chip.name,
                rows,
                most: MAX_LOG_ROWS,
            });
        }
        let s = self.device.stream()?;
        let _stage = s.stage("traces");
        let height = match rows {
            0 => 0,
            rows => rows.next_power_of_two(),
        };
        let mut trace = MetalBuffer::uninit(s.context(), height * chip.columns)?;
        if height > 0 {
            let records = MetalBuffer::from_host(s, records)?.cast::<u32>()?;
            let params = ChipParams {
                height: height as u64,
                rows: rows as u32,
                ..self.params
            };
            let counts = &mut self.counts;
            (chip.launch)(
                s,
                Grid::threads(height),
                &records,
                &mut trace,
                counts,
                &params,
            )?;
        }
        Ok(MetalMatrix::from_buffer(trace, height, chip.columns))
    }

    /// The trace of a lookup table from the counts so far, and those of the host's chips, which are zero then.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn table(&mut self, table: &Table) -> Result<MetalMatrix<F>, TraceError> {
        let s = self.device.stream()?;
        let _stage = s.stage("traces");
        let on_host = MetalBuffer::from_host(s, &table.take_counts())?;
        let (height, columns, offset) = match table {
            Table::Range(_) => (self.params.bitwise as usize, 4, 0),
            Table::Bitwise(_) => (BITWISE_ROWS, 18, self.params.bitwise),
            Table::Tuple(_) => (self.tuple_rows, 3, self.params.tuple),
        };
        let params = TableParams {
            height: height as u32,
            offset,
            shape: self.params.tuple_size,
            counts: self.params.counts,
        };
        let mut trace = MetalBuffer::uninit(s.context(), height * columns)?;
        let launch = match table {
            Table::Range(_) => kernels::table_range,
            Table::Bitwise(_) => kernels::table_bitwise,
            Table::Tuple(_) => kernels::table_tuple,
        };
        launch(
            s,
            Grid::threads(height),
            &self.counts,
            &on_host,
            &mut trace,
            &params,
        )?;
        Ok(MetalMatrix::from_buffer(trace, height, columns))
    }
}
