//! Operations that go element by element.

use openvm_metal_common::{Grid, MetalBuffer};

use super::launch::Call;
use super::{DeviceError, Launched};
use crate::host::HostError;
use crate::params::{MapParams, ZipParams};
use crate::BinaryOp;

/// Codes beside those of `MapOp`.
pub(super) const CLIP: u32 = 32;
pub(super) const FILL: u32 = 33;

/// Most threads of a launch.
const MAX_THREADS: u64 = 1 << 30;

impl Call<'_> {
    /// First element and threads of each launch: a thread has 16 bytes.
    fn launches(&self, count: u64) -> impl Iterator<Item = (u64, u32)> {
        let per_thread = 16 / self.ty.size() as u64;
        let threads = count.div_ceil(per_thread);
        (0..threads.div_ceil(MAX_THREADS)).map(move |launch| {
            let first = launch * MAX_THREADS;
            (
                first * per_thread,
                (threads - first).min(MAX_THREADS) as u32,
            )
        })
    }

    /// Operation `op` of operand 1, or of none.
    pub fn map(&self, op: u32, [low, high]: [u64; 2], count: u64) -> Result<(), DeviceError> {
        let kernel = if op == FILL {
            // Half floats are filled as what they are stored in.
            super::launch::kernel(match self.ty.size() {
                1 => "map_u8",
                2 => "map_u16",
                4 => "map_u32",
                _ => "map_u64",
            })?
        } else {
            self.kernel("map")?
        };
        let read = if op == FILL { 0 } else { 1 };
        for (first, threads) in self.launches(count) {
            let params = MapParams {
                first,
                count,
                low,
                high,
                threads,
                op,
                aligned: self.all_aligned(1 + read).into(),
                pad: 0,
            };
            self.encode(kernel, Grid::threads(threads as usize))
                .buffer_range(0, self.operand(read))
                .buffer_range(1, self.operand(0))
                .value(2, &params)
                .dispatch()?;
        }
        Ok(())
    }

    /// Operand 1 `op` operand 2, or a constant.
    pub fn zip(
        &self,
        op: BinaryOp,
        constant: Option<u64>,
        count: u64,
    ) -> Result<Launched, DeviceError> {
        let divides = op == BinaryOp::Div && self.ty.is_int();
        if divides && count > 0 && constant.is_some_and(|bits| bits & self.ty.mask() == 0) {
            return Err(HostError::DivisionByZero.into());
        }
        let kernel = self.kernel(if divides { "divide" } else { "zip" })?;
        let mut fault = if divides && count > 0 {
            Some(MetalBuffer::<u32>::zeroed(self.stream, 1)?)
        } else {
            None
        };
        let right = if constant.is_some() { 1 } else { 2 };
        for (first, threads) in self.launches(count) {
            let params = ZipParams {
                first,
                count,
                value: constant.unwrap_or(0),
                threads,
                op: op.code().into(),
                scalar: constant.is_some().into(),
                aligned: self.all_aligned(1 + right).into(),
            };
            let call = self
                .encode(kernel, Grid::threads(threads as usize))
                .buffer_range(0, self.operand(1))
                .buffer_range(1, self.operand(right))
                .buffer_range(2, self.operand(0))
                .value(3, &params);
            match &mut fault {
                Some(fault) => {
                    let mut fault = fault.as_slice_mut();
                    call.buffer_mut::<u32>(4, &mut fault).dispatch()?;
                }
                None => call.dispatch()?,
            }
        }
        // A constant was looked at.
        Ok(Launched {
            fault: fault.filter(|_| constant.is_none()),
        })
    }
}
