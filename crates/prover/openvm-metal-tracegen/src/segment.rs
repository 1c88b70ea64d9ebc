//! `SegmentTraces`: the traces of one segment on a device.

use openvm_metal_backend::{MetalDevice, MetalMatrix, MetalProverError};
use openvm_metal_common::{Grid, MetalBuffer};
use p3_baby_bear::BabyBear as F;

use crate::{
    chips::{DeviceChips, Table},
    kernels,
    params::{ChipParams, Poseidon2Params, TableParams},
    poseidon2::Permutations,
    row_chip::RowChip,
};

/// Rows of the bitwise table.
const BITWISE_ROWS: usize = 1 << 16;

/// An error of a trace that the device makes.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Records that are not whole.
    #[error("the {bytes} bytes of records of {chip} end inside of one, of {record} bytes or as many for each row")]
    CutRecord {
        /// Name of the chip.
        chip: &'static str,
        /// Bytes of all records.
        bytes: usize,
        /// Bytes of one record, or of what each of its rows adds.
        record: usize,
    },
    /// More rows than a trace has.
    #[error("{chip} has {rows} rows, and a trace has at most 2^{most} rows: cut the execution into smaller segments")]
    TooManyRows {
        /// Name of the chip.
        chip: &'static str,
        /// Number of rows.
        rows: usize,
        /// log2 of the most rows.
        most: u32,
    },
    /// A chip of the host counted in a table in which only the device counts.
    #[error("a chip without a kernel looks up range tuples, whose counts the device alone has: make the traces on the host")]
    HostCounts,
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

/// Rows of a trace of a chip: the next power of two, or 0 without rows.
fn checked_height(chip: &'static str, rows: usize) -> Result<usize, TraceError> {
    match rows {
        0 => Ok(0),
        rows if rows > 1 << MAX_LOG_ROWS => Err(TraceError::TooManyRows {
            chip,
            rows,
            most: MAX_LOG_ROWS,
        }),
        rows => Ok(rows.next_power_of_two()),
    }
}

/// Traces of one segment, and the counts of its lookup tables. The tables' traces are made when those of all other chips are.
pub struct SegmentTraces {
    device: MetalDevice,
    counts: MetalBuffer<u32>,
    params: ChipParams,
    tuple_rows: usize,
    /// Records with their number, for a chip whose trace comes after that of the chip that they were written for.
    shared: Vec<(&'static str, MetalBuffer<u32>, usize)>,
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
            shared: vec![],
        })
    }

    /// The trace of a chip from its records, padded to the next power of two; 0 rows without records.
    ///
    /// # Errors
    /// Records that are not whole or too many, and failures of the device.
    pub fn rows(&mut self, chip: &RowChip, records: &[u8]) -> Result<MetalMatrix<F>, TraceError> {
        let record = chip.record_bytes();
        let split = chip.row_words.map(|row| {
            chip.split(row, records).ok_or(TraceError::CutRecord {
                chip: chip.name,
                bytes: records.len(),
                record: 4 * row.words,
            })
        });
        let split = split.transpose()?;
        let records = split.as_deref().unwrap_or(records);
        if !records.len().is_multiple_of(record) {
            return Err(TraceError::CutRecord {
                chip: chip.name,
                bytes: records.len(),
                record,
            });
        }
        let count = records.len() / record;
        let on_device = match count {
            0 => None,
            _ => Some(MetalBuffer::from_host(self.device.stream()?, records)?.cast::<u32>()?),
        };
        let trace = self.rows_of(chip, on_device.as_ref(), count)?;
        if let (Some(periphery), Some(records)) = (chip.periphery, on_device) {
            self.shared.push((periphery.name, records, count));
        }
        Ok(trace)
    }

    /// The trace of a chip from the records of the one that it is the [periphery](RowChip::periphery) of, whose trace was made just before, with
    /// OpenVM's padding; 0 rows without records.
    ///
    /// # Errors
    /// Too many records, and failures of the device.
    pub fn periphery(&mut self, chip: &RowChip) -> Result<MetalMatrix<F>, TraceError> {
        let at = self.shared.iter().position(|(name, ..)| *name == chip.name);
        match at.map(|at| self.shared.swap_remove(at)) {
            Some((_, records, count)) => self.rows_of(chip, Some(&records), count),
            None => self.rows_of(chip, None, 0),
        }
    }

    fn rows_of(
        &mut self,
        chip: &RowChip,
        records: Option<&MetalBuffer<u32>>,
        count: usize,
    ) -> Result<MetalMatrix<F>, TraceError> {
        let height = checked_height(chip.name, count * chip.rows_per_record)?;
        let s = self.device.stream()?;
        let _stage = s.stage("traces");
        let mut trace = MetalBuffer::uninit(s.context(), height * chip.columns)?;
        if let Some(records) = records {
            let params = ChipParams {
                height: height as u64,
                rows: count as u32,
                ..self.params
            };
            let counts = &mut self.counts;
            (chip.launch)(
                s,
                Grid::threads(height),
                records,
                &mut trace,
                counts,
                &params,
            )?;
        }
        Ok(MetalMatrix::from_buffer(trace, height, chip.columns))
    }

    /// The trace of the Poseidon2 chip: the permutations in order, then those of zeros up to the next power of two; 0 rows without permutations.
    ///
    /// # Errors
    /// Too many permutations, and failures of the device.
    pub fn permutations(
        &mut self,
        permutations: &Permutations,
    ) -> Result<MetalMatrix<F>, TraceError> {
        let (rows, columns) = (permutations.inputs.len(), permutations.columns());
        let height = checked_height("Poseidon2PeripheryChip", rows)?;
        let s = self.device.stream()?;
        let _stage = s.stage("traces");
        let mut trace = MetalBuffer::uninit(s.context(), height * columns)?;
        if height > 0 {
            let inputs = MetalBuffer::from_host(s, permutations.inputs.as_flattened())?;
            let lookups = MetalBuffer::from_host(s, &permutations.lookups)?;
            let params = Poseidon2Params {
                height: height as u32,
                rows: rows as u32,
                cubes: permutations.cubes as u32,
            };
            kernels::trace_poseidon2(
                s,
                Grid::threads(height),
                &inputs,
                &lookups,
                &mut trace,
                &params,
            )?;
        }
        Ok(MetalMatrix::from_buffer(trace, height, columns))
    }

    /// The trace of a lookup table from the counts so far, and those of the host's chips, which are zero then.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn table(&mut self, table: &Table) -> Result<MetalMatrix<F>, TraceError> {
        let s = self.device.stream()?;
        let _stage = s.stage("traces");
        let on_host = match table.uncounted_rows() {
            Some((_, true)) => return Err(TraceError::HostCounts),
            Some((rows, false)) => MetalBuffer::zeroed(s, rows)?,
            None => MetalBuffer::from_host(s, &table.take_counts())?,
        };
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
