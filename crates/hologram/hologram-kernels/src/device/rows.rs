//! Operations on each row of a matrix: a threadgroup per row.

use openvm_metal_common::Grid;

use super::launch::Call;
use super::DeviceError;
use crate::params::RowParams;
use crate::Ty;

/// Rows of a launch: with 512 threads each they stay below 2^32 threads.
const MAX_ROWS: u32 = 1 << 22;

fn threads(cols: u32) -> u32 {
    match cols {
        0..=64 => 32,
        65..=256 => 64,
        257..=1024 => 128,
        1025..=8192 => 256,
        _ => 512,
    }
}

impl Call<'_> {
    fn row_params(&self, first: u32, cols: u32, epsilon: f64) -> RowParams {
        let bits = |value: f64| match self.ty.calculated() {
            Ty::F32 => u64::from((value as f32).to_bits()),
            _ => value.to_bits(),
        };
        RowParams {
            first: first.into(),
            cols: cols.into(),
            least: bits(f64::NEG_INFINITY),
            epsilon: bits(epsilon),
        }
    }

    /// First row and number of rows of each launch.
    fn row_launches(rows: u32, cols: u32) -> impl Iterator<Item = (u32, u32)> {
        let rows = if cols == 0 { 0 } else { rows };
        (0..rows.div_ceil(MAX_ROWS)).map(move |launch| {
            let first = launch * MAX_ROWS;
            (first, (rows - first).min(MAX_ROWS))
        })
    }

    /// Softmax of the rows of operand 1.
    pub fn softmax(&self, rows: u32, cols: u32) -> Result<(), DeviceError> {
        let kernel = self.kernel("softmax")?;
        for (first, count) in Self::row_launches(rows, cols) {
            self.encode(kernel, Grid::groups(count, threads(cols)))
                .buffer_range(0, self.operand(1))
                .buffer_range(1, self.operand(0))
                .value(2, &self.row_params(first, cols, 0.0))
                .dispatch()?;
        }
        Ok(())
    }

    /// Layer norm of the rows of operand 1 with the factors and summands in operands 2 and 3.
    pub fn layer_norm(&self, rows: u32, cols: u32, epsilon: f64) -> Result<(), DeviceError> {
        let kernel = self.kernel("layer_norm")?;
        for (first, count) in Self::row_launches(rows, cols) {
            self.encode(kernel, Grid::groups(count, threads(cols)))
                .buffer_range(0, self.operand(1))
                .buffer_range(1, self.operand(2))
                .buffer_range(2, self.operand(3))
                .buffer_range(3, self.operand(0))
                .value(4, &self.row_params(first, cols, epsilon))
                .dispatch()?;
        }
        Ok(())
    }
}
