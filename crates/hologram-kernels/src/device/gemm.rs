//! Products of matrices.

use openvm_metal_common::Grid;

use super::launch::{kernel, Call};
use super::DeviceError;
use crate::params::GemmParams;
use crate::Ty;

/// Threadgroups below which smaller tiles keep more of the device busy.
const BUSY: u64 = 128;
/// Most columns of `a`: indices of steps fit 32 bits.
const MAX_K: u32 = 1 << 31;

/// Kernel, rows and columns of its tile, threads of its threadgroup.
type Shape = (&'static str, u32, u32);

/// Metal's shader validation, which takes some threadgroup memory of each kernel: tiles that fill all of it cannot run.
fn validated() -> bool {
    std::env::var("MTL_SHADER_VALIDATION").is_ok_and(|value| !matches!(value.as_str(), "" | "0"))
}

/// `whole`: kernels may declare all 32 KiB of threadgroup memory.
fn shape(ty: Ty, m: u32, n: u32, whole: bool) -> Shape {
    let tiles = |side: u32| u64::from(m.div_ceil(side)) * u64::from(n.div_ceil(side));
    let large = whole && tiles(128) >= BUSY;
    match ty {
        Ty::F64 => ("gemm_f64_64", 64, 256),
        Ty::F16 if large => ("gemm_f16_128", 128, 256),
        Ty::F16 => ("gemm_f16_32", 32, 64),
        Ty::Bf16 if large => ("gemm_bf16_128", 128, 256),
        Ty::Bf16 => ("gemm_bf16_32", 32, 64),
        _ if large => ("gemm_f32_128", 128, 256),
        _ if tiles(64) >= BUSY => ("gemm_f32_64", 64, 256),
        _ => ("gemm_f32_32", 32, 64),
    }
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
        } else {
            let (name, side, threads) = shape(self.ty, m, n, !validated());
            params.tiles_m = m.div_ceil(side);
            params.tiles_n = n.div_ceil(side);
            let tiles = u64::from(params.tiles_m) * u64::from(params.tiles_n);
            let tiles = u32::try_from(tiles)
                .map_err(|_| DeviceError::Unsupported("more than 2^32 tiles of a product"))?;
            (kernel(name)?, Grid::groups(tiles, threads))
        };
        self.encode(kernel, grid)
            .buffer_range(0, self.operand(1))
            .buffer_range(1, self.operand(2))
            .buffer_range(2, self.operand(0))
            .value(3, &params)
            .dispatch()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_that_fill_threadgroup_memory_can_be_left_out() {
        for ty in [Ty::F32, Ty::F16, Ty::Bf16] {
            assert_eq!(shape(ty, 1 << 14, 1 << 14, true).1, 128);
            assert!(shape(ty, 1 << 14, 1 << 14, false).1 <= 64);
        }
    }
}
