//! Products of matrices of halves on matrix units.

use openvm_metal_common::kernel::KernelSpec;
use openvm_metal_common::{Grid, MetalBuffer, MetalError, MetalSlice};

use super::gemm::BUSY;
use super::launch::{kernel, Call};
use super::DeviceError;
use crate::params::{GemmParams, OctetParams};
use crate::Ty;

/// Smallest depth of a product that is worth copies of its factors: the copies are two dispatches more.
const WORTH_COPIES: u32 = 128;
/// Elements of an octet, and its bytes.
const OCTET: (u32, usize) = (8, 16);
/// Threads of a threadgroup of [`Call::fill_octets`].
const FILL_THREADS: u32 = 256;
/// Rows and columns of a tile, threads of its threadgroup; the best first.
const TILES: [(u32, u32); 2] = [(128, 256), (64, 128)];

/// A factor whose rows begin at multiples of 16 bytes.
enum Factor<'a> {
    Operand(MetalSlice<'a, u8>),
    Copy(MetalBuffer<u8>),
}

impl Factor<'_> {
    fn as_slice(&self) -> MetalSlice<'_, u8> {
        match self {
            Self::Operand(memory) => *memory,
            Self::Copy(memory) => memory.as_slice(),
        }
    }
}

impl Call<'_> {
    /// Encodes the product of `params` on matrix units and says true, or nothing and false: where the device has none, the
    /// type is not one of theirs, or a factor cannot be copied that would have to be or is not worth it.
    pub(super) fn gemm_on_units(&self, params: GemmParams) -> Result<bool, DeviceError> {
        let (m, n, k) = (params.m, params.n, params.k);
        let Some((kernel, side, threads)) = self.units_kernel(m, n)? else {
            return Ok(false);
        };
        let (tiles_m, tiles_n) = (m.div_ceil(side), n.div_ceil(side));
        let Some(tiles) = tiles_m.checked_mul(tiles_n) else {
            return Ok(false);
        };
        let worth_copies = k >= WORTH_COPIES;
        let Some(a) = self.factor(1, [m, k], worth_copies)? else {
            return Ok(false);
        };
        let Some(b) = self.factor(2, [k, n], worth_copies)? else {
            return Ok(false);
        };
        let params = GemmParams {
            tiles_m,
            tiles_n,
            ..params
        };
        self.encode(kernel, Grid::groups(tiles, threads))
            .buffer_range(0, a.as_slice())
            .buffer_range(1, b.as_slice())
            .buffer_range(2, self.operand(0))
            .value(3, &params)
            .dispatch()?;
        Ok(true)
    }

    /// The best kernel that runs here, rows and columns of its tile, threads of its threadgroup.
    fn units_kernel(
        &self,
        m: u32,
        n: u32,
    ) -> Result<Option<(&'static KernelSpec, u32, u32)>, DeviceError> {
        let context = self.stream.context();
        if !context.device_profile().matrix_units || !matches!(self.ty, Ty::F16 | Ty::Bf16) {
            return Ok(None);
        }
        for (side, threads) in TILES {
            let tiles = u64::from(m.div_ceil(side)) * u64::from(n.div_ceil(side));
            if side > 64 && tiles < BUSY {
                continue;
            }
            let kernel = kernel(&format!("gemm_{}_units_{side}", self.ty.name()))?;
            if matches!(context.kernel_limits(kernel), Ok(limits) if limits.threads >= threads) {
                return Ok(Some((kernel, side, threads)));
            }
        }
        Ok(None)
    }

    /// Operand `index` of `rows` x `cols`, or a copy of it whose rows are filled up to octets.
    fn factor(
        &self,
        index: usize,
        [rows, cols]: [u32; 2],
        worth_copies: bool,
    ) -> Result<Option<Factor<'_>>, DeviceError> {
        if self.is_aligned(index) && cols.is_multiple_of(OCTET.0) {
            return Ok(Some(Factor::Operand(self.operand(index))));
        }
        let octets = rows.checked_mul(cols.div_ceil(OCTET.0));
        match octets.filter(|_| worth_copies) {
            Some(octets) => self.fill_octets(index, [rows, cols], octets as usize),
            None => Ok(None),
        }
    }

    /// A copy of operand `index` of `rows` x `cols` with zeros after each row; `None` if the device has no memory for it.
    fn fill_octets(
        &self,
        index: usize,
        [rows, cols]: [u32; 2],
        octets: usize,
    ) -> Result<Option<Factor<'_>>, DeviceError> {
        let copy = match MetalBuffer::<u8>::uninit(self.stream.context(), octets * OCTET.1) {
            Ok(copy) => copy,
            Err(MetalError::OutOfMemory { .. } | MetalError::BufferTooLarge { .. }) => {
                return Ok(None)
            }
            Err(error) => return Err(error.into()),
        };
        self.encode(
            kernel("fill_octets")?,
            Grid::threads_per_group(octets, FILL_THREADS),
        )
        .buffer_range(0, self.operand(index))
        .buffer_range(1, copy.as_slice())
        .value(2, &OctetParams { rows, cols })
        .dispatch()?;
        Ok(Some(Factor::Copy(copy)))
    }
}
