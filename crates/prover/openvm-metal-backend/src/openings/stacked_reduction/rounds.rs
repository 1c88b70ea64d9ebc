//! The rounds after the univariate one; those on the host's transcript.

use openvm_metal_common::{CommandStream, MemCopyH2D, MetalBuffer, MetalSlice, MetalSliceMut};
use p3_field::PrimeCharacteristicRing;

use super::{
    blocks::{BlockPlan, Blocks, Cell},
    claims::{internal, StackedCommit},
    columns::{BoundColumns, RowWeights},
    factors::Work,
    plan::{round_len, RoundPlan},
    round0::UnivariateFactors,
    tables::{DeviceTables, HostTable, HostTables},
    univariate::Tables,
    Reduction,
};
use crate::{error::MetalProverError, params::StackedBlock, prelude::EF};

/// Inputs of the rounds.
pub(super) struct Begin<'a> {
    /// The powers of lambda, two for each column.
    pub lambdas: &'a [EF],
    /// The same on the device. Behind them lie tables of the univariate round.
    pub lambdas_on_device: MetalBuffer<EF>,
    /// Tables that the univariate round left.
    pub tables: Tables,
    pub u_0: EF,
}

/// The rounds after the univariate one, counted from 1 on.
pub(super) struct Rounds<'a> {
    pub reduction: &'a Reduction<'a>,
    pub block_plan: &'a BlockPlan,
    lambdas: &'a [EF],
    pub lambdas_on_device: MetalBuffer<EF>,
    weights: RowWeights,
    work: Work,
    pub work_on_device: MetalBuffer<EF>,
    pub device: Option<DeviceTables>,
    host: HostTables,
    /// Blocks of round `blocks_of`, if that is not 0.
    pub blocks: Blocks,
    pub blocks_of: usize,
    /// The last challenge.
    u: EF,
}

impl<'a> Rounds<'a> {
    pub fn new(
        reduction: &'a Reduction<'a>,
        block_plan: &'a BlockPlan,
        univariate: &UnivariateFactors,
        begin: Begin<'a>,
    ) -> Result<Self, MetalProverError> {
        let (s, u) = (reduction.s, begin.u_0);
        let lagrange = univariate.lagrange(u);
        let (device, host) = match begin.tables {
            Tables::Device(tables) => (Some(DeviceTables { tables }), HostTables::default()),
            Tables::Host(tables) => (None, reduction.fold_on_host(&tables, &lagrange)),
        };
        let work = Work::new(
            reduction.plan.l_skip,
            univariate,
            u,
            reduction.coordinate(1),
        );
        Ok(Self {
            reduction,
            block_plan,
            lambdas: begin.lambdas,
            lambdas_on_device: begin.lambdas_on_device,
            weights: RowWeights::new(s, lagrange)?,
            work_on_device: MetalBuffer::from_host(s, work.memory())?,
            work,
            device,
            host,
            blocks: Blocks::default(),
            blocks_of: 0,
            u,
        })
    }

    /// The round polynomial at 1 and 2. One dispatch where tables are on the device, and those of columns that have just been bound; at
    /// most one wait.
    pub fn evals(&mut self, round: usize) -> Result<[EF; 2], MetalProverError> {
        let reduction = self.reduction;
        let s = reduction.s;
        let plans = reduction.plan.device.as_ref().map(|device| &device.rounds);
        let plan = plans
            .and_then(|plans| plans.get(round - 1))
            .filter(|_| self.device.is_some());
        let sums = plan.map_or(0, |plan| 2 * plan.dispatch.jobs.groups as usize);
        let bound = self.bound_in(round).filter(|_| self.blocks_of != round);
        let values = bound.map_or(0, |bound| bound.len);
        let mut results = MetalBuffer::uninit(s.context(), sums + values)?;
        let (of_sums, of_values) = results.split_at_mut(sums);
        if round > 1 && (plan.is_some() || bound.is_some()) {
            let work = self.work_on_device.slice_mut(..);
            self.work.memory().copy_to(work, s)?;
        }
        if let Some(plan) = plan {
            self.encode_tables(plan, round, of_sums)?;
        }
        if let Some(bound) = bound {
            self.encode_bound(bound, of_values)?;
        }

        // The host's part while the device works.
        if round > 1 {
            self.host.bind(self.u);
        }
        let r = reduction.coordinate(round);
        let [mut one, mut two] = self.host.round_evals(&self.work.factors, r);

        let last = plan.is_some() && plans.is_some_and(|plans| plans.len() == round);
        let left = plan
            .filter(|_| last)
            .map_or(0, |plan| reduction.left(plan, round));
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
        self.next_blocks(round, &results[sums..]);
        let [of_blocks_one, of_blocks_two] = self.blocks.round_evals();
        Ok([one + of_blocks_one, two + of_blocks_two])
    }

    /// Ends a round with its challenge.
    pub fn bind(&mut self, round: usize, u: EF) {
        let coordinate = |round| self.reduction.coordinate(round);
        self.work.fold(coordinate(round), u, coordinate(round + 1));
        self.u = u;
    }

    /// The columns that are bound before a round.
    pub fn bound_in(&self, round: usize) -> Option<&'a BoundColumns> {
        let mut bound = self.reduction.bound.iter();
        bound.find(|bound| bound.vars() == round - 1)
    }

    /// Encodes a round over the tables of all heights.
    pub fn encode_tables(
        &mut self,
        plan: &RoundPlan,
        round: usize,
        sums: MetalSliceMut<'_, EF>,
    ) -> Result<(), MetalProverError> {
        let Some(device) = &mut self.device else {
            return Err(internal("no tables on the device".into()));
        };
        let (reduction, lagrange) = (self.reduction, self.weights.lagrange());
        let work = self.work_on_device.slice(..);
        let jobs = reduction.tables;
        device.encode_round(reduction.s, plan, jobs, lagrange, work, round, sums)
    }

    /// Encodes the values of columns that are bound now.
    pub fn encode_bound(
        &mut self,
        bound: &BoundColumns,
        values: MetalSliceMut<'_, EF>,
    ) -> Result<(), MetalProverError> {
        let Reduction {
            s,
            sources,
            columns,
            ..
        } = self.reduction;
        let point = self.work_on_device.slice(..);
        bound.encode(s, sources, columns, &mut self.weights, point, values)
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
            let s: &CommandStream = self.reduction.s;
            s.count_host_work("stacked_reduction.rounds", elements);
        }
    }

    /// Makes the blocks of a round, if they are not made; `values` are the shares of columns that are bound before it.
    fn next_blocks(&mut self, round: usize, values: &[EF]) {
        if self.blocks_of == round {
            return;
        }
        let log_shares = self.bound_in(round).map_or(0, BoundColumns::log_shares);
        let (lambdas, work) = (self.lambdas, self.work.memory());
        let bound = |block: &StackedBlock| {
            let (from, column) = (block.from as usize, block.column as usize);
            let at = block.factors as usize;
            let shares = &values[from..from + (1 << log_shares)];
            Cell {
                value: shares.iter().copied().sum(),
                weight: lambdas[2 * column] * work[at] + lambdas[2 * column + 1] * work[at + 1],
            }
        };
        self.blocks = self.blocks.next(self.block_plan.of(round), self.u, bound);
        self.blocks_of = round;
    }

    /// For each commitment, the values of its stacked columns: the blocks, when they are whole columns. Columns as tall as the stacked
    /// matrix are bound only now.
    pub fn openings(&mut self, n_stack: usize) -> Result<Vec<Vec<EF>>, MetalProverError> {
        let (reduction, round) = (self.reduction, n_stack + 1);
        let mut values = Vec::new();
        if let Some(bound) = self.bound_in(round).filter(|_| self.blocks_of != round) {
            let s = reduction.s;
            self.work
                .memory()
                .copy_to(self.work_on_device.slice_mut(..), s)?;
            let mut out = MetalBuffer::uninit(s.context(), bound.len)?;
            self.encode_bound(bound, out.as_slice_mut())?;
            values = out.to_host(s)?;
        }
        self.next_blocks(round, &values);
        let columns = self.block_plan.columns(&self.blocks);
        let mut columns = columns.into_iter().peekable();
        let mut first = 0;
        let of_commit = |commit: &StackedCommit<'_>| {
            let mut openings = EF::zero_vec(commit.layout.width());
            let end = first + openings.len() as u64;
            while let Some((column, value)) = columns.next_if(|&(column, _)| column < end) {
                openings[(column - first) as usize] = value;
            }
            first = end;
            openings
        };
        Ok(reduction.commits.iter().map(of_commit).collect())
    }
}

impl Reduction<'_> {
    /// The coordinate of the variable of a round. There may be none after those of the tallest height, where nobody reads the factors.
    pub(super) fn coordinate(&self, round: usize) -> EF {
        self.r.get(round).copied().unwrap_or(EF::ZERO)
    }

    /// Elements of the tables of a round whose heights have variables left after it.
    fn left(&self, plan: &RoundPlan, round: usize) -> usize {
        let heights = self.claims.heights.iter();
        let left = heights.take_while(|height| height.n_lift() > round);
        plan.offsets.get(left.count()).copied().unwrap_or(plan.len)
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
