//! The first round: all columns are batched, and the sums over the hypercube that `s_0` is put together from are read.

use openvm_metal_common::{CommandStream, MetalBuffer, MetalSlice};
use p3_field::PrimeCharacteristicRing;

use super::{
    plan::{DevicePlan, THREADS},
    round0::{host_sums, UnivariateFactors, UnivariateRound},
    Reduction,
};
use crate::{
    error::MetalProverError,
    jobs::DeviceJobs,
    kernels,
    params::StackedTableJob,
    prelude::{D_EF, EF},
};

/// The batched tables of all heights, as [`super::plan::Plan`] lays them out.
pub(super) enum Tables {
    Device(MetalBuffer<EF>),
    Host(Vec<EF>),
}

/// The first round while the device works.
pub(super) struct Begun {
    arena: MetalBuffer<EF>,
    /// Sums over the hypercube that are read, if the device makes them.
    sums: Option<MetalBuffer<EF>>,
}

impl Reduction<'_> {
    /// Encodes the batched tables, and the sums over the hypercube if the device makes them. Also gives the powers of lambda on the device.
    pub(super) fn begin_univariate(
        &self,
        lambdas: &[EF],
    ) -> Result<(Begun, MetalBuffer<EF>), MetalProverError> {
        let (s, plan) = (self.s, self.plan);
        let device = plan.device.as_ref();
        let scratch = self.batch.scratch_len();
        let scratch = scratch.max(device.map_or(0, |device| device.partials_len));
        let mut arena = MetalBuffer::<EF>::uninit(s.context(), plan.tables_len + scratch)?;
        let mut weights = lambdas.to_vec();
        if let Some(device) = device {
            let tallest = self.claims.heights[0].n_lift();
            let (low, high) = self.r[1..=tallest].split_at(device.log_low);
            weights.extend(eq_tables(low));
            weights.extend(eq_tables(high));
        }
        let weights = MetalBuffer::from_host(s, &weights)?;
        let (powers, eq) = (
            weights.slice(..lambdas.len()),
            weights.slice(lambdas.len()..),
        );
        let (sources, columns) = (&self.sources, self.columns);
        self.batch
            .encode(s, plan, sources, columns, self.tables, &powers, &mut arena)?;
        let Some(device) = device else {
            let sums = None;
            return Ok((Begun { arena, sums }, weights));
        };
        let (l_skip, len) = (plan.l_skip, plan.tables_len);
        encode_sums(s, l_skip, len, device, self.tables, &eq, &mut arena)?;
        let mut sums = MetalBuffer::uninit(s.context(), device.sums_len)?;
        let words = (D_EF * (device.partials_len + device.sums_len)) as u64;
        // SAFETY: the slots of `add` are the sums that `skip` has written behind the tables, and tables; its results are laid out in `sums`.
        unsafe {
            let out = sums.as_slice_mut();
            device
                .add
                .encode_sum(s, self.tables, arena.slice(..), out, words)?;
        }
        let sums = Some(sums);
        Ok((Begun { arena, sums }, weights))
    }

    /// The coefficients of `s_0`, and the tables that the rounds begin with: one wait.
    pub(super) fn finish_univariate(
        &self,
        begun: Begun,
        factors: &UnivariateFactors,
    ) -> Result<(Vec<EF>, Tables), MetalProverError> {
        let (s, plan) = (self.s, self.plan);
        let Begun { mut arena, sums } = begun;
        let mut round = UnivariateRound::new(factors);
        let (Some(device), Some(sums)) = (&plan.device, sums) else {
            let tables = arena.slice(..plan.tables_len).to_host(s)?;
            self.add_on_host(&mut round, &tables);
            return Ok((round.into_coeffs(), Tables::Host(tables)));
        };
        let read = sums.to_host(s)?;
        arena.truncate(plan.tables_len);

        let size = 1 << plan.l_skip;
        let (slots, flat) = read.split_at(3 * size * device.sums);
        let mut sums = EF::zero_vec(3 * size);
        for slot in slots.chunks_exact(3 * size) {
            add_all(&mut sums, slot);
        }
        for (height, tables) in self.claims.heights[device.heights..]
            .iter()
            .zip(flat.chunks_exact(2 * size))
        {
            let (g0, g1) = tables.split_at(size);
            if height.n < 0 {
                round.add(height.n, [g0, g1, g1]);
            } else {
                add_all(&mut sums, &[g0, g1, g1].concat());
            }
        }
        add_sums(&mut round, 0, &sums);
        Ok((round.into_coeffs(), Tables::Device(arena)))
    }

    fn add_on_host(&self, round: &mut UnivariateRound<'_>, tables: &[EF]) {
        let l_skip = self.plan.l_skip;
        let mut all = EF::zero_vec(3 << l_skip);
        for (height, &at) in self.claims.heights.iter().zip(&self.plan.offsets) {
            let cells = &tables[at..at + 2 * height.rows()];
            let (g0, g1) = cells.split_at(height.rows());
            self.s
                .count_host_work("stacked_reduction.round0", cells.len());
            let sums = host_sums(l_skip, g0, g1, &self.r[1..1 + height.n_lift()]);
            if height.n < 0 {
                add_sums(round, height.n, &sums);
            } else {
                add_all(&mut all, &sums);
            }
        }
        add_sums(round, 0, &all);
    }
}

/// Encodes the weights of all points, and the sums of each threadgroup behind the tables: two dispatches.
fn encode_sums(
    s: &CommandStream,
    l_skip: usize,
    tables_len: usize,
    device: &DevicePlan,
    table: &DeviceJobs<StackedTableJob>,
    eq: &MetalSlice<'_, EF>,
    arena: &mut MetalBuffer<EF>,
) -> Result<(), MetalProverError> {
    let weights = &device.weights;
    let (jobs, starts) = table.of(&weights.jobs);
    let grid = weights.jobs.grid(weights.block);
    let params = weights.params(l_skip, device.log_low);
    let count = weights.count;
    // SAFETY: `jobs`, `starts` and the grid are of one dispatch of a `JobTable`, so each threadgroup finds its job. `eq` has both rows of tables
    // of the tallest height, the plan has room for weights and two elements behind the tables of a height, blocks have at most
    // 2^log_low entries.
    unsafe {
        kernels::stacked_eq_weights(s, grid, jobs, starts, eq, &mut *arena, &params, count)?;
    }
    let skip = &device.skip;
    let (jobs, starts) = table.of(&skip.jobs);
    let (grid, params, count) = (skip.jobs.grid(THREADS), skip.params(l_skip, 0), skip.count);
    let (tables, partials) = arena.split_at_mut(tables_len);
    // SAFETY: as above; the tables of a job are those of its height, with the weights that were just written.
    unsafe {
        kernels::stacked_skip_sums(
            s,
            grid,
            jobs,
            starts,
            tables.as_slice(),
            partials,
            &params,
            count,
        )?;
    }
    Ok(())
}

/// Tables of `eq(r[..k], y)` for all `k`, each from entry `2^k` on.
fn eq_tables(r: &[EF]) -> Vec<EF> {
    let mut tables = vec![EF::ZERO, EF::ONE];
    tables.reserve(2 << r.len());
    for (k, &r) in r.iter().enumerate() {
        let (from, to) = (1 << k, 2 << k);
        for i in from..to {
            let one = tables[i] * r;
            tables.push(tables[i] - one);
        }
        for i in from..to {
            tables.push(tables[i] - tables[i + from]);
        }
    }
    tables
}

fn add_all(sums: &mut [EF], more: &[EF]) {
    for (sum, &x) in sums.iter_mut().zip(more) {
        *sum += x;
    }
}

/// Adds `A`, `B` and `C`, one after the other.
fn add_sums(round: &mut UnivariateRound<'_>, n: isize, sums: &[EF]) {
    let size = sums.len() / 3;
    round.add(n, [&sums[..size], &sums[size..2 * size], &sums[2 * size..]]);
}
