//! Dispatches over the ranges of the stacked matrices, eight ranges at a time.

use openvm_metal_common::MetalSlice;

use super::claims::StackedCommit;
use crate::{
    jobs::{DispatchJobs, JobTable},
    matrix::MetalSliceOwned,
    params::StackedColumnJob,
    prelude::F,
};

/// Ranges that a kernel takes.
const SOURCES: usize = 8;
/// Cells that kernels read at once.
const QUAD: usize = 4;

/// The ranges that hold columns, as [`super::claims::ColumnRange::source`] numbers them.
pub(super) struct Sources<'a> {
    slices: Vec<MetalSlice<'a, F>>,
    /// True if each begins at a multiple of [`QUAD`] cells of its buffer.
    pub in_quads: bool,
}

impl<'a> Sources<'a> {
    /// `ranges`: commitment and range of each.
    pub fn new(commits: &[StackedCommit<'a>], ranges: &[(usize, usize)]) -> Self {
        let cells = ranges
            .iter()
            .map(|&(commit, range)| &commits[commit].ranges[range].cells);
        Self {
            in_quads: cells
                .clone()
                .all(|cells| cells.parts().1.is_multiple_of(QUAD)),
            slices: cells.map(MetalSliceOwned::slice).collect(),
        }
    }

    /// Slices of a dispatch; unused places repeat the first.
    pub fn of(&self, dispatch: &ColumnDispatch) -> [MetalSlice<'a, F>; SOURCES] {
        let first = dispatch.first_source;
        std::array::from_fn(|k| *self.slices.get(first + k).unwrap_or(&self.slices[first]))
    }
}

/// A job before it is known which dispatch it belongs to.
pub(super) struct ColumnJob {
    /// Dispatches of a level come after those of lower ones.
    pub level: usize,
    pub source: usize,
    pub groups: usize,
    pub job: StackedColumnJob,
}

/// One dispatch over columns.
pub(super) struct ColumnDispatch {
    pub jobs: DispatchJobs,
    /// Cells of its columns.
    pub cells: u64,
    /// Rows of the largest threadgroup, as a logarithm.
    pub log_block: u32,
    first_source: usize,
}

impl ColumnDispatch {
    /// The fewest dispatches that keep to the levels and take eight ranges each.
    pub fn plan(mut jobs: Vec<ColumnJob>, table: &mut JobTable<StackedColumnJob>) -> Vec<Self> {
        let key = |job: &ColumnJob| (job.level, job.source / SOURCES);
        jobs.sort_by_key(key);
        let dispatches = jobs.chunk_by(|a, b| key(a) == key(b)).map(|jobs| Self {
            cells: jobs
                .iter()
                .map(|j| u64::from(j.job.columns) << j.job.log_rows)
                .sum(),
            log_block: jobs.iter().map(|j| j.job.log_block).max().unwrap_or(0),
            first_source: jobs[0].source / SOURCES * SOURCES,
            jobs: table.dispatch(jobs.iter().map(|j| {
                let source = (j.source % SOURCES) as u32;
                (StackedColumnJob { source, ..j.job }, j.groups as u32)
            })),
        });
        dispatches.collect()
    }
}
