//! Reduction of column openings to one opening of the stacked matrices (`docs/stacked-reduction.md`).
//!
//! Columns of one height are batched by powers of lambda before the sumcheck, so the sumcheck of a
//! height runs on two extension columns. A column's own value is needed only after the variables of
//! its height are bound: from then on it is one block of the stacked matrix, and the rest is a sumcheck
//! over blocks on the host.

mod batch;
mod blocks;
mod claims;
mod columns;
mod plan;
mod ranges;
mod round0;
mod rounds;
mod univariate;

use openvm_metal_common::{CommandStream, MetalBuffer, MetalSlice};
use openvm_stark_backend::{proof::StackingProof, FiatShamirTranscript};
use p3_field::PrimeCharacteristicRing;

pub use self::claims::StackedCommit;
pub(crate) use self::plan::{batched_len, partials_len, round_len};
use self::{
    batch::BatchPlan,
    blocks::Blocks,
    claims::Claims,
    columns::{BoundColumns, RowWeights},
    plan::{Plan, RoundPlan},
    ranges::Sources,
    round0::UnivariateFactors,
    rounds::{DeviceTables, Factors, HostTable, HostTables},
};
use crate::{
    error::MetalProverError,
    jobs::{DeviceJobs, JobTable},
    params::{StackedColumnJob, StackedTableJob},
    prelude::{EF, SC},
};

/// Proves that the columns of all commitments open at `r` (and at its rotation) as the transcript says.
///
/// The bytes are those of the reference's `prove_stacked_opening_reduction`. Returns the proof and the
/// point `u` of `1 + n_stack` coordinates at which the stacked matrices are opened. When the tallest height
/// has at most `2^host_log_rows` rows left, all are finished on the host.
pub fn prove_stacked_reduction<TS: FiatShamirTranscript<SC>>(
    s: &CommandStream,
    transcript: &mut TS,
    l_skip: usize,
    n_stack: usize,
    commits: &[StackedCommit<'_>],
    r: &[EF],
    host_log_rows: usize,
) -> Result<(StackingProof<SC>, Vec<EF>), MetalProverError> {
    let _stage = s.stage("prover.openings.stacked_reduction");
    let lambda = transcript.sample_ext();
    let reduction = Reduction::new(s, l_skip, commits, r, host_log_rows)?;
    let lambdas = reduction.claims.weights(lambda);
    let factors = UnivariateFactors::new(l_skip, r[0]);
    let (coeffs, tables) = reduction.univariate_round(&lambdas, &factors)?;
    for &coeff in &coeffs {
        transcript.observe_ext(coeff);
    }
    let mut u = vec![transcript.sample_ext()];

    let mut rounds = reduction.rounds(&lambdas, &factors, tables, u[0])?;
    let lagrange = MetalBuffer::from_host(s, &rounds.lagrange)?;
    let mut weights = RowWeights::new(&lagrange);
    let mut round_polys = Vec::with_capacity(n_stack);
    for round in 1..=n_stack {
        let evals = rounds.evals(&mut weights, &lagrange, round, &u)?;
        for &eval in &evals {
            transcript.observe_ext(eval);
        }
        round_polys.push(evals);
        u.push(transcript.sample_ext());
        if let Some(&r) = r.get(round) {
            rounds.factors.fold(r, u[round]);
        }
    }
    let stacking_openings = rounds.openings(&mut weights, &u)?;
    for &claim in stacking_openings.iter().flatten() {
        transcript.observe_ext(claim);
    }
    let proof = StackingProof {
        univariate_round_coeffs: coeffs,
        sumcheck_round_polys: round_polys,
        stacking_openings,
    };
    Ok((proof, u))
}

/// What follows from the shapes: plans, and the jobs of all dispatches on the device.
struct Reduction<'a> {
    s: &'a CommandStream,
    commits: &'a [StackedCommit<'a>],
    r: &'a [EF],
    claims: Claims,
    sources: Sources<'a>,
    plan: Plan,
    batch: BatchPlan,
    bound: Vec<BoundColumns>,
    tables: DeviceJobs<StackedTableJob>,
    columns: DeviceJobs<StackedColumnJob>,
}

impl<'a> Reduction<'a> {
    fn new(
        s: &'a CommandStream,
        l_skip: usize,
        commits: &'a [StackedCommit<'a>],
        r: &'a [EF],
        host_log_rows: usize,
    ) -> Result<Self, MetalProverError> {
        let claims = Claims::new(l_skip, commits)?;
        let (mut columns, mut tables) = (JobTable::default(), JobTable::default());
        let plan = Plan::new(l_skip, &claims, host_log_rows, &mut tables);
        let batch = BatchPlan::new(&claims, &plan, &mut columns, &mut tables);
        Ok(Self {
            s,
            commits,
            r,
            sources: Sources::new(commits, &claims.ranges),
            bound: BoundColumns::plan(l_skip, &claims, &mut columns),
            claims,
            plan,
            batch,
            tables: tables.upload(s)?,
            columns: columns.upload(s)?,
        })
    }

    /// Everything after the univariate round, with its challenge.
    fn rounds(
        &self,
        lambdas: &'a [EF],
        factors: &'a UnivariateFactors,
        tables: univariate::Tables,
        u_0: EF,
    ) -> Result<Rounds<'_>, MetalProverError> {
        let lagrange = factors.lagrange(u_0);
        let (device, host) = match tables {
            univariate::Tables::Device(tables) => {
                (Some(DeviceTables { tables }), HostTables::default())
            }
            univariate::Tables::Host(tables) => (None, self.fold_on_host(&tables, &lagrange)),
        };
        let mut lagrange_and_one = lagrange;
        lagrange_and_one.push(EF::ONE);
        Ok(Rounds {
            reduction: self,
            lambdas,
            univariate: factors,
            factors: Factors::new(&factors.at(0, u_0)),
            lagrange: lagrange_and_one,
            u_0,
            device,
            host,
            blocks: Blocks::default(),
        })
    }

    /// Binds the univariate variable of the tables of all heights.
    fn fold_on_host(&self, tables: &[EF], lagrange: &[EF]) -> HostTables {
        let fold = |g: &[EF]| -> Vec<EF> {
            g.chunks_exact(lagrange.len())
                .map(|chunk| chunk.iter().zip(lagrange).map(|(&g, &l)| g * l).sum())
                .collect()
        };
        let heights = self.claims.heights.iter().zip(&self.plan.offsets);
        let tall = heights.filter(|(height, _)| height.n > 0);
        let tables = tall.map(|(height, &at)| {
            let (g0, g1) = tables[at..at + 2 * height.rows()].split_at(height.rows());
            HostTable::new(fold(g0), fold(g1), &self.r[1..1 + height.n_lift()])
        });
        HostTables(tables.collect())
    }
}

/// The rounds after the univariate one.
struct Rounds<'a> {
    reduction: &'a Reduction<'a>,
    lambdas: &'a [EF],
    univariate: &'a UnivariateFactors,
    /// Of all heights with variables left.
    factors: Factors,
    /// The Lagrange coefficients at `u_0`, then 1.
    lagrange: Vec<EF>,
    u_0: EF,
    device: Option<DeviceTables>,
    host: HostTables,
    blocks: Blocks,
}

impl Rounds<'_> {
    /// The round polynomial at 1 and 2; `u` are the challenges before the round. One dispatch where tables are on the device, and those
    /// of columns that have just been bound; at most one wait.
    fn evals(
        &mut self,
        weights: &mut RowWeights<'_>,
        lagrange: &MetalBuffer<EF>,
        round: usize,
        u: &[EF],
    ) -> Result<[EF; 2], MetalProverError> {
        let reduction = self.reduction;
        let s = reduction.s;
        // There is none in rounds after those of the tallest height, which need none.
        let r = reduction.r.get(round).copied().unwrap_or(EF::ZERO);
        let plans = reduction.plan.device.as_ref().map(|device| &device.rounds);
        let plan = plans.and_then(|plans| plans.get(round - 1));
        let sums = plan.map_or(0, |plan| 2 * plan.dispatch.jobs.groups as usize);
        let bound = reduction.bound.iter().find(|b| b.vars() == round - 1);
        let values = bound.map_or(0, |bound| bound.len);
        let mut results = MetalBuffer::uninit(s.context(), sums + values)?;
        let (of_sums, of_values) = results.split_at_mut(sums);
        if let (Some(plan), Some(device)) = (plan, &mut self.device) {
            let skip = (round == 1).then(|| lagrange.slice(..lagrange.len() - 1));
            let u = u[round - 1];
            device.encode_round(
                s,
                plan,
                &reduction.tables,
                skip,
                &self.factors,
                r,
                u,
                of_sums,
            )?;
        }
        if let Some(bound) = bound {
            let (sources, columns) = (&reduction.sources, &reduction.columns);
            bound.encode(s, sources, columns, weights, &u[1..round], of_values)?;
        }

        // The host's part while the device works.
        if round > 1 {
            self.host.bind(u[round - 1]);
            self.blocks.fold(u[round - 1]);
        }
        let [mut one, mut two] = self.host.round_evals(&self.factors, r);

        let last = plan.is_some() && plans.is_some_and(|plans| plans.len() == round);
        let left = plan
            .filter(|_| last)
            .map_or(0, |plan| self.left(plan, round));
        let mut slices: Vec<MetalSlice<'_, EF>> = Vec::new();
        if !results.is_empty() {
            slices.push(results.slice(..));
        }
        if let Some(device) = self.device.as_ref().filter(|_| left > 0) {
            slices.push(device.tables.slice(..left));
        }
        let read = if slices.is_empty() {
            Vec::new()
        } else {
            s.read_many(&slices)?
        };
        let mut read = read.into_iter();
        let results = read.next().unwrap_or_default();
        for pair in results[..sums].chunks_exact(2) {
            one += pair[0];
            two += pair[1];
        }
        if let (Some(plan), true) = (plan, last) {
            self.device = None;
            self.take_over(plan, round, &read.next().unwrap_or_default());
        }
        if let Some(bound) = bound {
            self.join(bound, &results[sums..]);
        }
        let [of_blocks_one, of_blocks_two] = self.blocks.round_evals();
        Ok([one + of_blocks_one, two + of_blocks_two])
    }

    /// Elements of the tables of a round whose heights have variables left after it.
    fn left(&self, plan: &RoundPlan, round: usize) -> usize {
        let heights = self.reduction.claims.heights.iter();
        let left = heights.take_while(|height| height.n_lift() > round);
        plan.offsets.get(left.count()).copied().unwrap_or(plan.len)
    }

    /// Takes the tables that the last round on the device has written.
    fn take_over(&mut self, plan: &RoundPlan, round: usize, tables: &[EF]) {
        let heights = self.reduction.claims.heights.iter();
        let left = heights.take_while(|height| height.n_lift() > round);
        let tables = left.zip(&plan.offsets).map(|(height, &at)| {
            let vars = height.n_lift() - round + 1;
            HostTable::of_round(&tables[at..at + round_len(vars)], vars)
        });
        self.host = HostTables(tables.collect());
        let elements = self.host.elements();
        if elements > 0 {
            let s = self.reduction.s;
            s.count_host_work("stacked_reduction.rounds", elements);
        }
    }

    /// Adds columns that have just been bound to the blocks.
    fn join(&mut self, bound: &BoundColumns, values: &[EF]) {
        let mut joining = Vec::new();
        bound.finish(values, |height, column_range, values| {
            let height = &self.reduction.claims.heights[height];
            let [eq, rot] = if height.n < 0 {
                Factors::new(&self.univariate.at(height.n, self.u_0)).bound()
            } else {
                self.factors.bound()
            };
            let key = column_range.start >> height.log_rows;
            let lambdas = self.lambdas[2 * column_range.first_column..].chunks_exact(2);
            for ((key, &value), lambda) in (key..).zip(values).zip(lambdas) {
                let mut weight = lambda[0] * eq;
                if column_range.rotated {
                    weight += lambda[1] * rot;
                }
                joining.push((key, value, weight));
            }
        });
        self.blocks.join(joining);
    }

    /// For each commitment, the values of its stacked columns: the blocks, when they are whole columns. Columns as tall as the stacked
    /// matrix are bound only now.
    fn openings(
        &mut self,
        weights: &mut RowWeights<'_>,
        u: &[EF],
    ) -> Result<Vec<Vec<EF>>, MetalProverError> {
        let reduction = self.reduction;
        let round = u.len() - 1;
        if let Some(&u) = u[1..].last() {
            self.blocks.fold(u);
        }
        if let Some(bound) = reduction.bound.iter().find(|b| b.vars() == round) {
            let (s, sources, columns) = (reduction.s, &reduction.sources, &reduction.columns);
            let mut out = MetalBuffer::uninit(s.context(), bound.len)?;
            bound.encode(s, sources, columns, weights, &u[1..], out.as_slice_mut())?;
            let values = out.to_host(s)?;
            self.join(bound, &values);
        }
        let mut values = self.blocks.values().peekable();
        let mut first = 0;
        let of_commit = |commit: &StackedCommit<'_>| {
            let mut openings = EF::zero_vec(commit.layout.width());
            let end = first + openings.len() as u64;
            while let Some((key, value)) = values.next_if(|&(key, _)| key < end) {
                openings[(key - first) as usize] = value;
            }
            first = end;
            openings
        };
        Ok(reduction.commits.iter().map(of_commit).collect())
    }
}
