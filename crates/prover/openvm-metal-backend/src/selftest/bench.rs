//! The kernels that measure a device's peaks: a peak of a wrong computation would mean nothing.

use openvm_metal_common::{Grid, MetalBuffer};
use p3_field::PrimeCharacteristicRing;

use super::{compare, Check, CheckEnv, CheckFailure};
use crate::kernels;
use crate::params::BenchParams;
use crate::prelude::F;

pub(super) const CHECKS: &[Check] = &[
    Check {
        group: "bench",
        name: "fp_mul",
        run: fp_mul,
    },
    Check {
        group: "bench",
        name: "copy",
        run: copy,
    },
];

/// Eight chains that start at 1x, ..., 8x and are multiplied by x in each round: 36 x^(rounds + 1).
fn fp_mul(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for threads in [1u32, 17, 300] {
        let p = BenchParams {
            threads,
            rounds: 11,
        };
        let n = threads as usize;
        let mut out = MetalBuffer::<F>::uninit(env.s.context(), n)?;
        out.poison(env.s)?;
        kernels::bench_fp_mul(env.s, Grid::threads(n), &mut out, &p)?;
        let chain = |i: u32| F::from_u32(36) * F::from_u32(i).exp_u64(12);
        let expected: Vec<F> = (0..threads).map(chain).collect();
        compare(
            || format!("{threads} threads"),
            &out.to_host(env.s)?,
            &expected,
        )?;
    }
    Ok(())
}

fn copy(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    for n in [1usize, 17, 5000] {
        let words: Vec<u32> = (0..4 * n).map(|_| env.rng.bits() as u32).collect();
        let input = MetalBuffer::from_host(env.s, &words)?;
        let mut out = MetalBuffer::uninit(env.s.context(), 4 * n)?;
        out.poison(env.s)?;
        let p = BenchParams {
            threads: n as u32,
            rounds: 0,
        };
        kernels::bench_copy(env.s, Grid::threads(n), &input, &mut out, &p)?;
        compare(|| format!("{n} threads"), &out.to_host(env.s)?, &words)?;
    }
    Ok(())
}
