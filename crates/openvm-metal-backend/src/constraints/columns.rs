//! Launching the kernels over trace columns: extension, copies, the fold by the first challenge.

use std::ops::Range;

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalError, MetalSlice};

use super::input::{Sources, TraceInput, SOURCES_PER_DISPATCH};
use crate::{
    kernels,
    params::{ConstraintColumn, ConstraintColumnJob, ConstraintColumnParams},
    prelude::{EF, F},
    programs::Variable,
};

/// Threads of a threadgroup.
const BLOCK: u32 = 256;

/// A range of the column table whose sources belong to one group.
#[derive(Clone, Debug)]
struct SetRange {
    group: usize,
    entries: Range<u32>,
}

/// Columns of one trace that are treated alike.
#[derive(Clone, Debug, Default)]
pub struct ColumnSet(Vec<SetRange>);

impl ColumnSet {
    /// Adds entries to the table.
    pub fn new(
        table: &mut Vec<ConstraintColumn>,
        mut entries: Vec<(usize, ConstraintColumn)>,
    ) -> Self {
        entries.sort_by_key(|&(group, _)| group);
        let mut ranges = Vec::new();
        for run in entries.chunk_by(|a, b| a.0 == b.0) {
            let first = table.len() as u32;
            table.extend(run.iter().map(|&(_, column)| column));
            ranges.push(SetRange {
                group: run[0].0,
                entries: first..table.len() as u32,
            });
        }
        Self(ranges)
    }

    /// Ranges of the table, with the group of sources of each.
    pub fn ranges(&self) -> impl Iterator<Item = (usize, Range<u32>)> + '_ {
        self.0
            .iter()
            .map(|range| (range.group, range.entries.clone()))
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.0.iter().map(|range| range.entries.len()).sum()
    }

    /// The columns that read `variables`, with rows counted from `first_row`.
    pub fn of_variables(
        table: &mut Vec<ConstraintColumn>,
        sources: &mut Sources,
        trace: &TraceInput<'_>,
        variables: &[Variable],
        first_row: usize,
    ) -> Self {
        let entries = variables
            .iter()
            .enumerate()
            .map(|(i, &v)| sources.column(trace, v, (first_row + i) as u32))
            .collect();
        Self::new(table, entries)
    }
}

/// The sources of one dispatch; unused places repeat the first.
pub struct SourceGroup<'a>(pub [MetalSlice<'a, F>; SOURCES_PER_DISPATCH]);

impl Sources {
    /// Group `group` of the sources.
    pub fn group(&self, group: usize) -> SourceGroup<'_> {
        let first = group * SOURCES_PER_DISPATCH;
        SourceGroup(std::array::from_fn(|k| {
            self.0.get(first + k).unwrap_or(&self.0[first]).slice(..)
        }))
    }
}

/// Jobs of one pass, by group of sources.
#[derive(Clone, Debug, Default)]
pub struct ColumnPass(Vec<(usize, Vec<ConstraintColumnJob>)>);

impl ColumnPass {
    /// Adds a job for all columns of a set; `job` holds everything but the columns and threads.
    pub fn push(&mut self, set: &ColumnSet, job: ConstraintColumnJob) {
        for range in &set.0 {
            let jobs = match self.0.iter().position(|(group, _)| *group == range.group) {
                Some(i) => &mut self.0[i].1,
                None => {
                    self.0.push((range.group, Vec::new()));
                    &mut self.0.last_mut().expect("just pushed").1
                }
            };
            jobs.push(ConstraintColumnJob {
                first_column: range.entries.start,
                threads: (range.entries.len() as u32) << job.log_points,
                ..job
            });
        }
    }
}

/// One dispatch: ranges of the uploaded tables.
#[derive(Clone, Debug)]
struct ColumnDispatch {
    group: usize,
    jobs: Range<usize>,
    groups: Range<usize>,
    /// Threads of all jobs.
    points: u64,
    /// Most cosets of a job.
    cosets: u64,
}

/// Which kernel.
#[derive(Clone, Copy)]
pub enum ColumnKernel<'a> {
    /// To cosets of the skip domain; tables of `metal/constraints/coset.h`.
    Extend(&'a MetalBuffer<F>),
    /// As they are.
    Gather,
    /// Weighted sums of the rows of each skip domain.
    Fold(&'a MetalBuffer<EF>),
}

/// The uploaded jobs of several passes.
pub struct ColumnPlan {
    passes: Vec<Vec<ColumnDispatch>>,
    jobs: MetalBuffer<ConstraintColumnJob>,
    groups: MetalBuffer<u32>,
}

impl ColumnPlan {
    /// Uploads the jobs of all passes.
    pub fn new(s: &CommandStream, passes: Vec<ColumnPass>) -> Result<Self, MetalError> {
        let (mut jobs, mut groups) = (Vec::new(), Vec::new());
        let mut plan = Vec::with_capacity(passes.len());
        for pass in passes {
            let mut dispatches = Vec::new();
            for (group, mut pass_jobs) in pass.0 {
                let (first_job, first_group) = (jobs.len(), groups.len());
                for (index, job) in pass_jobs.iter_mut().enumerate() {
                    job.first_group = (groups.len() - first_group) as u32;
                    let count = job.threads.div_ceil(BLOCK) as usize;
                    groups.extend(std::iter::repeat_n(index as u32, count));
                }
                let points = pass_jobs.iter().map(|job| u64::from(job.threads)).sum();
                let cosets = pass_jobs.iter().map(|job| u64::from(job.cosets)).max();
                jobs.extend(pass_jobs);
                let (jobs, groups) = (first_job..jobs.len(), first_group..groups.len());
                dispatches.push(ColumnDispatch {
                    group,
                    jobs,
                    groups,
                    points,
                    cosets: cosets.unwrap_or(0),
                });
            }
            plan.push(dispatches);
        }
        let jobs = upload(s, &jobs)?;
        Ok(Self {
            passes: plan,
            jobs,
            groups: upload(s, &groups)?,
        })
    }

    /// Encodes pass `pass`.
    #[allow(clippy::too_many_arguments)]
    pub fn run(
        &self,
        s: &CommandStream,
        pass: usize,
        kernel: ColumnKernel<'_>,
        l_skip: usize,
        sources: &Sources,
        columns: &MetalBuffer<ConstraintColumn>,
        arena: &mut MetalBuffer<F>,
    ) -> Result<(), MetalError> {
        for dispatch in &self.passes[pass] {
            let jobs = self.jobs.slice(dispatch.jobs.clone());
            let groups = self.groups.slice(dispatch.groups.clone());
            let grid = Grid::groups(dispatch.groups.len() as u32, BLOCK);
            let params = ConstraintColumnParams {
                l_skip: l_skip as u32,
                block: BLOCK,
                first_source: 0,
                unused: 0,
            };
            let SourceGroup([s0, s1, s2, s3, s4, s5, s6, s7]) = sources.group(dispatch.group);
            // SAFETY: `groups` has a share of a job for each threadgroup. The entries of the column table lie
            // in the sources of their group, `height_mask` keeps rows inside a column, and the layout that
            // made the jobs gave their results room in `arena`; the tables are those of `l_skip`.
            let launched = unsafe {
                match kernel {
                    ColumnKernel::Extend(tables) => kernels::constraint_extend(
                        s,
                        grid,
                        jobs,
                        groups,
                        columns,
                        tables,
                        &mut *arena,
                        &params,
                        s0,
                        s1,
                        s2,
                        s3,
                        s4,
                        s5,
                        s6,
                        s7,
                        dispatch.points,
                        dispatch.cosets,
                    ),
                    ColumnKernel::Gather => kernels::constraint_gather(
                        s,
                        grid,
                        jobs,
                        groups,
                        columns,
                        &mut *arena,
                        &params,
                        s0,
                        s1,
                        s2,
                        s3,
                        s4,
                        s5,
                        s6,
                        s7,
                        dispatch.points,
                    ),
                    ColumnKernel::Fold(weights) => kernels::constraint_fold_ple(
                        s,
                        grid,
                        jobs,
                        groups,
                        columns,
                        weights,
                        &mut *arena,
                        &params,
                        s0,
                        s1,
                        s2,
                        s3,
                        s4,
                        s5,
                        s6,
                        s7,
                        dispatch.points,
                    ),
                }
            };
            launched?;
        }
        Ok(())
    }
}

/// Uploads a table; an empty one becomes a single element that is never read.
pub fn upload<T: openvm_metal_common::DeviceElem>(
    s: &CommandStream,
    data: &[T],
) -> Result<MetalBuffer<T>, MetalError> {
    if data.is_empty() {
        return MetalBuffer::uninit(s.context(), 1);
    }
    MetalBuffer::from_host(s, data)
}
