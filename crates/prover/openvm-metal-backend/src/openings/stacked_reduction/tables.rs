//! The sumcheck over the rows of all heights, on their two batched tables.
//!
//! With `eq'(y) = eq(y; r_(k+1) ..)`, round `k` needs of each height only
//! ```text
//! S0(X) = sum_y eq'(y) g_0(X, y),  S1(X) = sum_y eq'(y) g_1(X, y),  S2(X) = sum_y eq'(y - 1) g_1(X, y)
//! ```
//! each linear in `X`: `eq` folds to a scalar times `eq'`, and `kappa_rot` stays in the span of `eq'` and
//! its rotation, because `kappa(x_0, x') = x_0 (1 - r_0) eq(x') + (1 - x_0) r_0 kappa(x')`. The factors before these sums are the
//! same for all heights, because all bind the same variables to the same challenges.

use openvm_metal_common::{CommandStream, MetalBuffer, MetalSlice, MetalSliceMut};
use p3_field::PrimeCharacteristicRing;

use super::{
    factors::Factors,
    plan::{RoundPlan, THREADS},
};
use crate::{
    error::MetalProverError,
    jobs::DeviceJobs,
    kernels,
    params::{StackedRoundParams, StackedTableJob},
    prelude::EF,
    tensor,
};

/// The tables of all heights with variables left, on the device.
pub(super) struct DeviceTables {
    /// Tables that the next round folds.
    pub tables: MetalBuffer<EF>,
}

impl DeviceTables {
    /// Encodes a round: folds the tables by the last challenge (before round 1 by the Lagrange coefficients), and writes each threadgroup's
    /// shares of the round polynomial at 1 and 2 to `sums`. `work` is that of the round. One dispatch.
    #[allow(clippy::too_many_arguments)]
    pub fn encode_round(
        &mut self,
        s: &CommandStream,
        plan: &RoundPlan,
        jobs: &DeviceJobs<StackedTableJob>,
        lagrange: MetalSlice<'_, EF>,
        work: MetalSlice<'_, EF>,
        round: usize,
        sums: MetalSliceMut<'_, EF>,
    ) -> Result<(), MetalProverError> {
        let params = StackedRoundParams {
            block: plan.dispatch.block,
            l_skip: lagrange.len().ilog2(),
            round: round as u32,
            unused: 0,
        };
        let dispatch = &plan.dispatch;
        let grid = dispatch.jobs.grid(THREADS);
        let (jobs, starts) = jobs.of(&dispatch.jobs);
        let mut out = MetalBuffer::uninit(s.context(), plan.len)?;
        let (tables, to, count) = (&self.tables, &mut out, dispatch.count);
        // SAFETY: `jobs`, `starts` and the grid are of one dispatch of a `JobTable`, so each threadgroup finds its job. Jobs read where the
        // plan of the round before wrote (the plan of the batched tables, before round 1), `out` has room for what they write.
        let launched = unsafe {
            match round {
                1 => kernels::stacked_skip_fold(
                    s, grid, jobs, starts, tables, lagrange, work, to, sums, &params, count,
                ),
                _ => kernels::stacked_fold_round(
                    s, grid, jobs, starts, tables, work, to, sums, &params, count,
                ),
            }
        };
        launched?;
        self.tables = out;
        Ok(())
    }
}

/// The tables of one height on the host, with at least one variable.
pub(super) struct HostTable {
    g0: Vec<EF>,
    g1: Vec<EF>,
    /// `eq'` of each pair.
    weights: Vec<EF>,
}

impl HostTable {
    /// Tables of `2^r.len()` elements; `r` are the coordinates of their variables.
    pub fn new(g0: Vec<EF>, g1: Vec<EF>, r: &[EF]) -> Self {
        let weights = tensor::expand(&tensor::eq_bits(&r[1..]), EF::ONE);
        Self { g0, g1, weights }
    }

    /// From what a round wrote ([`super::plan::round_len`]), with `vars` variables.
    pub fn of_round(tables: &[EF], vars: usize) -> Self {
        let (g0, rest) = tables.split_at(1 << vars);
        let (g1, weights) = rest.split_at(1 << vars);
        Self {
            g0: g0.to_vec(),
            g1: g1.to_vec(),
            weights: weights[2..].to_vec(),
        }
    }

    /// Adds the sums at `X = 1` and `X = 2`: `S0`, `S1`, and of the latter `S2`. 5 extension products for each pair.
    fn add(&self, one: &mut [EF; 2], two: &mut [EF; 3]) {
        let mut before = self.weights[self.weights.len() - 1];
        let pairs = self.g0.chunks_exact(2).zip(self.g1.chunks_exact(2));
        for (&weight, (a, b)) in self.weights.iter().zip(pairs) {
            let b_two = b[1].double() - b[0];
            one[0] += weight * a[1];
            one[1] += weight * b[1];
            two[0] += weight * (a[1].double() - a[0]);
            two[1] += weight * b_two;
            two[2] += before * b_two;
            before = weight;
        }
    }

    fn bind(&mut self, u: EF) {
        self.g0 = tensor::interpolate_pairs(&self.g0, u);
        self.g1 = tensor::interpolate_pairs(&self.g1, u);
        let pairs = self.weights.chunks_exact(2);
        self.weights = pairs.map(|pair| pair[0] + pair[1]).collect();
    }
}

/// The heights that the host finishes.
#[derive(Default)]
pub(super) struct HostTables(pub Vec<HostTable>);

impl HostTables {
    /// The share of the round polynomial at 1 and 2; `r` is the coordinate of the variable of the round.
    pub fn round_evals(&self, factors: &Factors, r: EF) -> [EF; 2] {
        let (mut one, mut two) = ([EF::ZERO; 2], [EF::ZERO; 3]);
        if self.0.is_empty() {
            return [EF::ZERO; 2];
        }
        for table in &self.0 {
            table.add(&mut one, &mut two);
        }
        // The third factor is 0 at 1.
        [
            dot(&factors.at(r, EF::ONE), &one),
            dot(&factors.at(r, EF::TWO), &two),
        ]
    }

    /// Binds the lowest variable to `u`. Heights without variables are left to the blocks.
    pub fn bind(&mut self, u: EF) {
        self.0.retain(|table| table.g0.len() > 2);
        for table in &mut self.0 {
            table.bind(u);
        }
    }

    /// Elements of all tables.
    pub fn elements(&self) -> usize {
        self.0.iter().map(|t| t.g0.len() + t.g1.len()).sum()
    }
}

fn dot(a: &[EF], b: &[EF]) -> EF {
    a.iter().zip(b).map(|(&a, &b)| a * b).sum()
}
