//! Products of matrices.

use openvm_metal_common::kernel::KernelSpec;
use openvm_metal_common::{Grid, MetalError};

use super::launch::{kernel, Call};
use super::DeviceError;
use crate::params::GemmParams;
use crate::Ty;

/// Threadgroups below which smaller tiles keep more of the device busy.
pub(super) const BUSY: u64 = 128;
/// Most columns of `a`: indices of steps fit 32 bits.
const MAX_K: u32 = 1 << 31;

/// Kernel, rows and columns of its tile, threads of its threadgroup.
type Shape = (&'static str, u32, u32);

/// Shapes for a product of `m` x `n` elements, the best first; none for integers, which `check` has refused.
fn shapes(ty: Ty, m: u32, n: u32) -> Vec<Shape> {
    let busy = |side: u32| u64::from(m.div_ceil(side)) * u64::from(n.div_ceil(side)) >= BUSY;
    let (large, medium, small) = match ty {
        Ty::F64 => return vec![("gemm_f64_64", 64, 256)],
        Ty::F16 => ("gemm_f16_128", None, "gemm_f16_32"),
        Ty::Bf16 => ("gemm_bf16_128", None, "gemm_bf16_32"),
        Ty::F32 => ("gemm_f32_128", Some("gemm_f32_64"), "gemm_f32_32"),
        Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::U8 | Ty::U16 | Ty::U32 | Ty::U64 => {
            return Vec::new()
        }
    };
    let large = busy(128).then_some((large, 128, 256));
    let medium = medium.filter(|_| busy(64)).map(|name| (name, 64, 256));
    let all = [large, medium, Some((small, 32, 64))];
    all.into_iter().flatten().collect()
}

impl Call<'_> {
    /// Operand 1 (m x k) times operand 2 (k x n).
    pub fn gemm(&self, m: u32, n: u32, k: u32) -> Result<(), DeviceError> {
        if m == 0 || n == 0 {
            return Ok(());
        }
        if k == 0 {
            let count = u64::from(m) * u64::from(n);
            return self.map(super::elementwise::FILL, [0, 0], count);
        }
        if k > MAX_K {
            return Err(DeviceError::Unsupported(
                "more than 2^31 columns of a factor",
            ));
        }
        let mut params = GemmParams {
            m,
            n,
            k,
            tiles_m: 0,
            tiles_n: 0,
            a_aligned: self.rows_aligned(1, k),
            b_aligned: self.rows_aligned(2, n),
            c_aligned: self.rows_aligned(0, n),
        };
        let (kernel, grid) = if n == 1 && m <= 1 << 24 {
            params.b_aligned = self.rows_aligned(2, 4);
            let threads = if k < 1024 { 64 } else { 256 };
            (self.kernel("gemv")?, Grid::groups(m, threads))
        } else if self.gemm_on_units(params)? {
            return Ok(());
        } else {
            let (kernel, side, threads) = self.product_kernel(m, n)?;
            params.tiles_m = m.div_ceil(side);
            params.tiles_n = n.div_ceil(side);
            let tiles = u64::from(params.tiles_m) * u64::from(params.tiles_n);
            let tiles = u32::try_from(tiles)
                .map_err(|_| DeviceError::Unsupported("more than 2^32 tiles of a product"))?;
            (kernel, Grid::groups(tiles, threads))
        };
        self.encode(kernel, grid)
            .buffer_range(0, self.operand(1))
            .buffer_range(1, self.operand(2))
            .buffer_range(2, self.operand(0))
            .value(3, &params)
            .dispatch()?;
        Ok(())
    }

    /// The best kernel that runs here: those with the largest tiles use all threadgroup memory of a Mac, and a device
    /// may have refused them or allow them too few threads.
    fn product_kernel(
        &self,
        m: u32,
        n: u32,
    ) -> Result<(&'static KernelSpec, u32, u32), DeviceError> {
        let context = self.stream.context();
        let mut refused = None;
        for (name, side, threads) in shapes(self.ty, m, n) {
            let kernel = kernel(name)?;
            match context.kernel_limits(kernel) {
                Ok(limits) if limits.threads >= threads => return Ok((kernel, side, threads)),
                Ok(limits) => {
                    refused.get_or_insert(MetalError::TooManyThreads {
                        kernel: kernel.name,
                        requested: threads.into(),
                        limit: limits.threads,
                    });
                }
                Err(error) => {
                    refused.get_or_insert(error);
                }
            }
        }
        Err(refused.map_or(DeviceError::Unsupported("a product"), DeviceError::Device))
    }
}
