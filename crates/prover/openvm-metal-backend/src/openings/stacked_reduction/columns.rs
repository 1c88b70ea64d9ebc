//! The value of every column at the point bound so far: the second and last pass over the matrices.

use std::ops::Range;

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalSlice, MetalSliceMut};
use p3_field::PrimeCharacteristicRing;

use super::{
    claims::{Claims, ColumnRange},
    factors::Work,
    plan::THREADS,
    ranges::{ColumnDispatch, ColumnJob, Sources},
};
use crate::{
    error::MetalProverError,
    jobs::{DeviceJobs, JobTable},
    kernels,
    params::{StackedBlock, StackedColumnJob, StackedValueParams, StackedWeightParams},
    prelude::{D_EF, EF, F},
};

/// Low factor of the row weights: `2^11` elements, 32 KiB.
const LOG_LOW: usize = 11;
/// Threadgroups that fill a large GPU, as a logarithm.
const LOG_GROUPS: usize = 10;
/// Shares of a column at most, as a logarithm: one thread adds them.
const LOG_SHARES: usize = 6;

/// Weights of the rows of a column, `weight(row) = high[row >> log_low] low[row mod 2^log_low]`, in planes.
pub(super) struct RowWeights {
    /// The Lagrange coefficients at `u_0`, then 1.
    lagrange: MetalBuffer<EF>,
    l_skip: usize,
    /// The low factor and its variables.
    low: Option<(usize, MetalBuffer<F>)>,
}

/// The factors of the row weights: the low one, and the high one if it has variables, else 1.
struct WeightFactors<'a> {
    low: &'a MetalBuffer<F>,
    high: Option<MetalBuffer<F>>,
    one: MetalSlice<'a, F>,
}

impl RowWeights {
    /// Makes the factors from the Lagrange coefficients at `u_0`, `2^l_skip` of them.
    pub fn new(s: &CommandStream, mut lagrange: Vec<EF>) -> Result<Self, MetalProverError> {
        let l_skip = lagrange.len().ilog2() as usize;
        lagrange.push(EF::ONE);
        Ok(Self {
            lagrange: MetalBuffer::from_host(s, &lagrange)?,
            l_skip,
            low: None,
        })
    }

    /// The Lagrange coefficients at `u_0`.
    pub fn lagrange(&self) -> MetalSlice<'_, EF> {
        self.lagrange.slice(..1 << self.l_skip)
    }

    /// Encodes `weight(z + 2^l_skip x) = lagrange[z] eq(u, x)` for `vars` variables: the low factor, unless it is that of the last call,
    /// and the high one. `point` begins with `u`.
    fn encode(
        &mut self,
        s: &CommandStream,
        point: MetalSlice<'_, EF>,
        vars: usize,
    ) -> Result<WeightFactors<'_>, MetalProverError> {
        let split = low_vars(self.l_skip, vars);
        let low = match self.low.take() {
            Some((of, low)) if of == split => low,
            _ => expand(s, self.lagrange(), point, 0..split)?,
        };
        let one = self.lagrange.slice(1 << self.l_skip..);
        let high = match vars > split {
            true => Some(expand(s, one, point, split..vars)?),
            false => None,
        };
        Ok(WeightFactors {
            low: &self.low.insert((split, low)).1,
            high,
            one: one.cast()?,
        })
    }
}

/// Variables of the low factor for columns of `vars`.
fn low_vars(l_skip: usize, vars: usize) -> usize {
    vars.min(LOG_LOW.saturating_sub(l_skip))
}

/// `out[z + len x] = base[z] eq(u, x)` in planes, where `u` are these elements of `point`; `base` has `len` elements, a power of two.
fn expand(
    s: &CommandStream,
    base: MetalSlice<'_, EF>,
    point: MetalSlice<'_, EF>,
    u: Range<usize>,
) -> Result<MetalBuffer<F>, MetalProverError> {
    let len = base.len() << u.len();
    let params = StackedWeightParams {
        len: len as u32,
        log_base: base.len().ilog2(),
        bits: u.len() as u32,
        first: u.start as u32,
    };
    let mut out = MetalBuffer::uninit(s.context(), D_EF * len)?;
    kernels::stacked_row_weights(s, Grid::threads(len), base, point, &mut out, &params)?;
    Ok(out)
}

/// Columns of one number of variables, whose values are computed together.
pub(super) struct BoundColumns {
    vars: usize,
    log_low: usize,
    log_shares: usize,
    /// With the index of the height, in the order of the values.
    column_ranges: Vec<(usize, ColumnRange)>,
    dispatches: Vec<ColumnDispatch>,
    /// For each range of columns, and in it for each column, `2^log_shares` summands.
    pub len: usize,
}

impl BoundColumns {
    /// Plans the columns of all heights, by rising number of variables; adds their jobs to `table`.
    pub fn plan(
        l_skip: usize,
        claims: &Claims,
        table: &mut JobTable<StackedColumnJob>,
    ) -> Vec<Self> {
        let heights: Vec<_> = claims.heights.iter().enumerate().collect();
        let together = heights.chunk_by(|a, b| a.1.n_lift() == b.1.n_lift());
        let together = together.rev().map(|heights| {
            let (vars, log_rows) = (heights[0].1.n_lift(), heights[0].1.log_rows);
            let log_low = l_skip + low_vars(l_skip, vars);
            let ranges = heights.iter().flat_map(|&(i, height)| {
                let ranges = height.column_ranges.iter();
                ranges.map(move |range| (i, range.clone()))
            });
            let column_ranges: Vec<(usize, ColumnRange)> = ranges.collect();
            let columns: usize = column_ranges.iter().map(|(_, p)| p.columns).sum();
            let wanted = LOG_GROUPS.saturating_sub(columns.max(1).ilog2() as usize);
            let log_shares = wanted.min(LOG_SHARES).min(log_rows - log_low);
            let mut len = 0;
            let jobs = column_ranges.iter().map(|(_, range)| {
                let groups = range.columns << log_shares;
                len += groups;
                ColumnJob {
                    level: 0,
                    source: range.source,
                    groups,
                    job: StackedColumnJob {
                        cells: range.cells,
                        out: (len - groups) as u64,
                        log_rows: log_rows as u32,
                        columns: range.columns as u32,
                        log_block: (log_rows - log_shares) as u32,
                        ..StackedColumnJob::default()
                    },
                }
            });
            let dispatches = ColumnDispatch::plan(jobs.collect(), table);
            Self {
                vars,
                log_low,
                log_shares,
                column_ranges,
                dispatches,
                len,
            }
        });
        together.collect()
    }

    /// Hypercube variables of the columns.
    pub fn vars(&self) -> usize {
        self.vars
    }

    /// Encodes the values into `out`, of `self.len` elements: a dispatch for eight ranges, and one or two for the weights. `point` begins
    /// with the coordinates of the variables.
    pub fn encode(
        &self,
        s: &CommandStream,
        sources: &Sources<'_>,
        columns: &DeviceJobs<StackedColumnJob>,
        weights: &mut RowWeights,
        point: MetalSlice<'_, EF>,
        mut out: MetalSliceMut<'_, EF>,
    ) -> Result<(), MetalProverError> {
        let WeightFactors { low, high, one } = weights.encode(s, point, self.vars)?;
        let high = high.as_ref().map_or(one, |high| high.slice(..));
        let params = StackedValueParams {
            log_low: self.log_low as u32,
            quads: u32::from(sources.in_quads),
        };
        for dispatch in &self.dispatches {
            let (jobs, starts) = columns.of(&dispatch.jobs);
            let grid = dispatch.jobs.grid(THREADS.min(1 << self.log_low));
            // SAFETY: `jobs`, `starts` and the grid are of one dispatch of a `JobTable`, so each threadgroup finds its job. The
            // columns of a job are cells of its range, `out` has a place for each share, `high` and `low` cover a column and a
            // share is no smaller than `low`, which is a buffer of its own. `in_quads` says that all sources begin at 16 bytes.
            let launched = unsafe {
                kernels::stacked_column_values(
                    s,
                    grid,
                    jobs,
                    starts,
                    low,
                    high,
                    out.reborrow(),
                    &params,
                    sources.of(dispatch),
                    dispatch.cells,
                )
            };
            launched?;
        }
        Ok(())
    }

    /// The blocks that the columns become, with their keys.
    pub fn blocks<'a>(
        &'a self,
        claims: &'a Claims,
    ) -> impl Iterator<Item = (u64, StackedBlock)> + 'a {
        let mut first = 0;
        let ranges = self.column_ranges.iter().flat_map(move |(height, range)| {
            let height = &claims.heights[*height];
            let key = range.start >> height.log_rows;
            let factors = Work::place(height.n) as u32;
            let value = first;
            first += range.columns;
            (0..range.columns).map(move |i| {
                let block = StackedBlock {
                    from: ((value + i) << self.log_shares) as u32,
                    column: (range.first_column + i) as u32,
                    factors,
                };
                (key + i as u64, block)
            })
        });
        ranges
    }

    /// Summands of a value, as a logarithm.
    pub fn log_shares(&self) -> usize {
        self.log_shares
    }
}
