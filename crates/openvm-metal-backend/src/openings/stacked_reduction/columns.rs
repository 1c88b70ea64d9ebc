//! The value of every column at the point bound so far: the second and last pass over the matrices.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer};
use p3_field::PrimeCharacteristicRing;

use super::claims::{ColumnRange, Height, StackedCommit};
use crate::{
    error::MetalProverError,
    kernels,
    params::{StackedColumnJob, StackedColumnParams},
    prelude::{EF, F},
    tensor,
};

/// Low factor of the row weights: `2^11` elements, 32 KiB.
const LOG_LOW: usize = 11;
/// Threadgroups that fill a large GPU, as a logarithm.
const LOG_GROUPS: usize = 10;
/// Threads of a threadgroup.
const THREADS: u32 = 256;

/// Weights of the rows of a column, `weight(row) = high[row >> log_low] low[row mod 2^log_low]`.
pub(super) struct RowWeights {
    low: MetalBuffer<F>,
    high: MetalBuffer<EF>,
    log_low: usize,
    log_rows: usize,
}

impl RowWeights {
    /// `weight(z + 2^l_skip x) = lagrange[z] eq(u, x)`.
    pub fn new(s: &CommandStream, lagrange: &[EF], u: &[EF]) -> Result<Self, MetalProverError> {
        let l_skip = lagrange.len().ilog2() as usize;
        let bits = tensor::eq_bits(u);
        let split = bits.len().min(LOG_LOW.saturating_sub(l_skip));
        let low: Vec<EF> = tensor::expand(&bits[..split], EF::ONE)
            .into_iter()
            .flat_map(|t| lagrange.iter().map(move |&l| t * l))
            .collect();
        let high = tensor::expand(&bits[split..], EF::ONE);
        Ok(Self {
            low: MetalBuffer::from_host(s, &tensor::planes(&low))?,
            high: MetalBuffer::from_host(s, &high)?,
            log_low: l_skip + split,
            log_rows: l_skip + bits.len(),
        })
    }
}

/// Column values that are being computed.
pub(super) struct ColumnValues {
    /// For each range of columns, and in it for each column, `2^log_shares` summands.
    out: MetalBuffer<EF>,
    column_ranges: Vec<(usize, ColumnRange)>,
    log_shares: usize,
}

impl ColumnValues {
    /// Encodes the values of all columns of `heights` (indices given, all of the same number of rows):
    /// one dispatch for each range.
    pub fn encode(
        s: &CommandStream,
        heights: &[(usize, &Height)],
        commits: &[StackedCommit<'_>],
        weights: &RowWeights,
    ) -> Result<Self, MetalProverError> {
        let mut column_ranges: Vec<(usize, ColumnRange)> = heights
            .iter()
            .flat_map(|&(i, height)| height.column_ranges.iter().map(move |p| (i, p.clone())))
            .collect();
        column_ranges.sort_by_key(|(_, p)| (p.commit, p.range));
        let columns: usize = column_ranges.iter().map(|(_, p)| p.columns).sum();
        let wanted = LOG_GROUPS.saturating_sub(columns.max(1).ilog2() as usize);
        let log_shares = wanted.min(weights.log_rows - weights.log_low);
        let mut jobs = Vec::with_capacity(column_ranges.len());
        let mut out = 0;
        for of_range in column_ranges.chunk_by(|a, b| same_range(&a.1, &b.1)) {
            let mut first_group = 0;
            for (_, column_range) in of_range {
                jobs.push(StackedColumnJob {
                    cells: column_range.cells,
                    out: out as u64,
                    log_rows: weights.log_rows as u32,
                    columns: column_range.columns as u32,
                    first_group,
                    log_block: (weights.log_rows - log_shares) as u32,
                    ..StackedColumnJob::default()
                });
                first_group += (column_range.columns << log_shares) as u32;
                out += column_range.columns << log_shares;
            }
        }
        let mut values = Self {
            out: MetalBuffer::uninit(s.context(), out)?,
            column_ranges,
            log_shares,
        };
        let jobs = MetalBuffer::from_host(s, &jobs)?;
        let threads = THREADS.min(1 << weights.log_low);
        let mut first = 0;
        for of_range in values.column_ranges.chunk_by(|a, b| same_range(&a.1, &b.1)) {
            let column_range = &of_range[0].1;
            let columns: usize = of_range.iter().map(|(_, p)| p.columns).sum();
            let groups = columns << log_shares;
            let total = (columns << weights.log_rows) as u64;
            // SAFETY: `groups` counts the shares of the jobs; their columns are cells of this range, `out`
            // has a place for each share, `high` and `low` cover a column and a share is no smaller than `low`.
            let launched = unsafe {
                kernels::stacked_column_values(
                    s,
                    Grid::groups(groups as u32, threads),
                    commits[column_range.commit].ranges[column_range.range]
                        .cells
                        .slice(),
                    &weights.low,
                    &weights.high,
                    jobs.slice(first..first + of_range.len()),
                    &mut values.out,
                    &StackedColumnParams {
                        jobs: of_range.len() as u32,
                        log_low: weights.log_low as u32,
                    },
                    total,
                )
            };
            launched?;
            first += of_range.len();
        }
        Ok(values)
    }

    /// What to read back.
    pub fn buffer(&self) -> &MetalBuffer<EF> {
        &self.out
    }

    /// Calls `each(height index, range of columns, values of these)`.
    pub fn finish(&self, read: &[EF], mut each: impl FnMut(usize, &ColumnRange, &[EF])) {
        let mut rest = read;
        for (height, column_range) in &self.column_ranges {
            let (shares, tail) = rest.split_at(column_range.columns << self.log_shares);
            let values: Vec<EF> = shares
                .chunks_exact(1 << self.log_shares)
                .map(|p| p.iter().copied().sum())
                .collect();
            each(*height, column_range, &values);
            rest = tail;
        }
    }
}

fn same_range(a: &ColumnRange, b: &ColumnRange) -> bool {
    (a.commit, a.range) == (b.commit, b.range)
}
