//! The value of every column at the point bound so far: the second and last pass over the matrices.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalSlice, MetalSliceMut};
use p3_field::PrimeCharacteristicRing;

use super::{
    claims::{Claims, ColumnRange},
    plan::THREADS,
    ranges::{ColumnDispatch, ColumnJob, Sources},
};
use crate::{
    error::MetalProverError,
    jobs::{DeviceJobs, JobTable},
    kernels,
    params::{StackedColumnJob, StackedWeightParams},
    prelude::{D_EF, EF, F},
};

/// Low factor of the row weights: `2^11` elements, 32 KiB.
const LOG_LOW: usize = 11;
/// Threadgroups that fill a large GPU, as a logarithm.
const LOG_GROUPS: usize = 10;

/// Weights of the rows of a column, `weight(row) = high[row >> log_low] low[row mod 2^log_low]`, in planes.
pub(super) struct RowWeights<'a> {
    /// The Lagrange coefficients at `u_0`, then 1.
    lagrange: &'a MetalBuffer<EF>,
    l_skip: usize,
    /// The low factor and its variables.
    low: Option<(usize, MetalBuffer<F>)>,
}

impl<'a> RowWeights<'a> {
    pub fn new(lagrange: &'a MetalBuffer<EF>) -> Self {
        Self {
            lagrange,
            l_skip: (lagrange.len() - 1).ilog2() as usize,
            low: None,
        }
    }

    /// Encodes `weight(z + 2^l_skip x) = lagrange[z] eq(u, x)`: the low factor, unless it is that of the last call, and the high one, if
    /// it has variables.
    fn encode(
        &mut self,
        s: &CommandStream,
        u: &[EF],
    ) -> Result<(&MetalBuffer<F>, Option<MetalBuffer<F>>), MetalProverError> {
        let split = low_vars(self.l_skip, u.len());
        let low = match self.low.take() {
            Some((vars, low)) if vars == split => low,
            _ => {
                let base = self.lagrange.slice(..1 << self.l_skip);
                expand(s, base, &u[..split])?
            }
        };
        let high = match &u[split..] {
            [] => None,
            high => Some(expand(s, self.lagrange.slice(1 << self.l_skip..), high)?),
        };
        Ok((&self.low.insert((split, low)).1, high))
    }
}

/// Variables of the low factor for columns of `vars`.
fn low_vars(l_skip: usize, vars: usize) -> usize {
    vars.min(LOG_LOW.saturating_sub(l_skip))
}

/// `out[z + len x] = base[z] eq(u, x)` in planes; `base` has `len` elements, a power of two.
fn expand(
    s: &CommandStream,
    base: MetalSlice<'_, EF>,
    u: &[EF],
) -> Result<MetalBuffer<F>, MetalProverError> {
    let len = base.len() << u.len();
    let mut params = StackedWeightParams {
        point: [EF::ZERO; 32],
        len: len as u32,
        log_base: base.len().ilog2(),
        bits: u.len() as u32,
        unused: 0,
    };
    params.point[..u.len()].copy_from_slice(u);
    let mut out = MetalBuffer::uninit(s.context(), D_EF * len)?;
    kernels::stacked_row_weights(s, Grid::threads(len), base, &mut out, &params)?;
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
    /// Those of all heights, by rising number of variables; adds their jobs to `table`.
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
            let log_shares = wanted.min(log_rows - log_low);
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

    /// Encodes the values into `out`, of `self.len` elements: a dispatch for eight ranges, and one or two for the weights. `u` are the
    /// coordinates of the variables.
    pub fn encode(
        &self,
        s: &CommandStream,
        sources: &Sources<'_>,
        columns: &DeviceJobs<StackedColumnJob>,
        weights: &mut RowWeights<'_>,
        u: &[EF],
        mut out: MetalSliceMut<'_, EF>,
    ) -> Result<(), MetalProverError> {
        let lagrange = weights.lagrange;
        let one = lagrange.slice(1 << weights.l_skip..).cast()?;
        let (low, high) = weights.encode(s, u)?;
        let high = high.as_ref().map_or(one, |high| high.slice(..));
        for dispatch in &self.dispatches {
            let (jobs, starts) = columns.of(&dispatch.jobs);
            let grid = dispatch.jobs.grid(THREADS.min(1 << self.log_low));
            // SAFETY: `jobs`, `starts` and the grid are of one dispatch of a `JobTable`, so each threadgroup finds its job. The
            // columns of a job are cells of its range, `out` has a place for each share, `high` and `low` cover a column and a
            // share is no smaller than `low`.
            let launched = unsafe {
                kernels::stacked_column_values(
                    s,
                    grid,
                    jobs,
                    starts,
                    low,
                    high,
                    out.reborrow(),
                    &(self.log_low as u32),
                    sources.of(dispatch),
                    dispatch.cells,
                )
            };
            launched?;
        }
        Ok(())
    }

    /// Calls `each(height index, range of columns, values of these)`.
    pub fn finish(&self, read: &[EF], mut each: impl FnMut(usize, &ColumnRange, &[EF])) {
        let mut rest = read;
        for (height, column_range) in &self.column_ranges {
            let (shares, tail) = rest.split_at(column_range.columns << self.log_shares);
            if self.log_shares == 0 {
                each(*height, column_range, shares);
            } else {
                let sums = shares.chunks_exact(1 << self.log_shares);
                let values: Vec<EF> = sums.map(|p| p.iter().copied().sum()).collect();
                each(*height, column_range, &values);
            }
            rest = tail;
        }
    }
}
