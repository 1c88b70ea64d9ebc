//! The two peaks that bound every kernel, measured on the device at hand.

use openvm_metal_backend::kernels;
use openvm_metal_backend::params::BenchParams;
use openvm_metal_backend::prelude::F;
use openvm_metal_common::{CommandStream, Execution, Grid, MetalBuffer};
use serde::{Deserialize, Serialize};

use super::measure::{median_time, warm_up};
use crate::error::Result;

/// Measured peaks of a device.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Roof {
    /// BabyBear products per second, in long independent chains without memory traffic.
    pub products_per_second: f64,
    /// Bytes per second of a copy, reads and writes added.
    pub bytes_per_second: f64,
}

impl Roof {
    /// Least time in seconds for the work.
    pub fn floor(&self, products: f64, bytes: f64) -> f64 {
        (products / self.products_per_second).max(bytes / self.bytes_per_second)
    }

    /// Measures both peaks.
    ///
    /// # Errors
    /// If a kernel cannot run or its buffers do not fit.
    pub fn measure(s: &CommandStream) -> Result<Self> {
        Ok(Self {
            products_per_second: products(s)?,
            bytes_per_second: bandwidth(s)?,
        })
    }
}

fn products(s: &CommandStream) -> Result<f64> {
    let (threads, rounds) = match s.context().device_profile().execution {
        Execution::MultiCore => (1u32 << 16, 256u32),
        Execution::ManyCore => (1 << 20, 1024),
    };
    let p = BenchParams { threads, rounds };
    let mut out = MetalBuffer::<F>::uninit(s.context(), threads as usize)?;
    let grid = Grid::threads(threads as usize);
    let mut launch = || kernels::bench_fp_mul(s, grid, &mut out, &p);
    warm_up(s, &mut launch)?;
    let time = median_time(s, launch)?;
    Ok(8.0 * f64::from(threads) * f64::from(rounds) / time)
}

fn bandwidth(s: &CommandStream) -> Result<f64> {
    // Well beyond every cache.
    let words: u32 = match s.context().device_profile().execution {
        Execution::MultiCore => 1 << 25,
        Execution::ManyCore => 1 << 27,
    };
    let p = BenchParams {
        threads: words / 4,
        rounds: 0,
    };
    let input = MetalBuffer::<u32>::zeroed(s, words as usize)?;
    let mut out = MetalBuffer::<u32>::zeroed(s, words as usize)?;
    let grid = Grid::threads(words as usize / 4);
    let time = median_time(s, || kernels::bench_copy(s, grid, &input, &mut out, &p))?;
    Ok(8.0 * f64::from(words) / time)
}
