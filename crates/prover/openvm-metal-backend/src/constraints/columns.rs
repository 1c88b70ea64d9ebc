//! Launching the kernels over trace columns: extension, copies, the fold by the first challenge.

use openvm_metal_common::{CommandStream, MetalBuffer, MetalError};

use super::{
    column_set::ColumnSet,
    plan::{Plan, Resident},
};
use crate::{
    jobs::{DeviceJobs, DispatchJobs, JobTable},
    kernels,
    params::{ConstraintColumnJob, ConstraintColumnParams},
    prelude::{EF, F},
    tensor::powers,
};

/// Threads of a threadgroup.
const THREADS: u32 = 256;
/// Points of a threadgroup: one for each thread, or the cells that it copies by fours.
pub const POINTS: u32 = THREADS;
pub const CELLS: u32 = 4 * THREADS;

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
    jobs: DispatchJobs,
    /// Threads of all jobs.
    points: u64,
    /// Most cosets of a job.
    cosets: u64,
}

/// Operation on the columns of a pass.
#[derive(Clone, Copy)]
pub enum ColumnKernel<'a> {
    /// To cosets of the skip domain; tables of `metal/constraints/coset.h`.
    Extend(&'a MetalBuffer<F>),
    /// Copies the columns as they are.
    Gather,
    /// Weighted sums of the rows of each skip domain.
    Fold(&'a MetalBuffer<EF>),
}

/// The jobs of several passes, on the host.
pub struct ColumnTables {
    /// Points of a threadgroup.
    block: u32,
    passes: Vec<Vec<ColumnDispatch>>,
    table: JobTable<ConstraintColumnJob>,
}

/// The uploaded jobs of several passes.
pub struct ColumnPlan {
    block: u32,
    passes: Vec<Vec<ColumnDispatch>>,
    jobs: DeviceJobs<ConstraintColumnJob>,
}

impl ColumnTables {
    /// Shares out the threadgroups of all passes, of `block` points each.
    pub fn new(passes: Vec<ColumnPass>, block: u32) -> Self {
        let mut table = JobTable::default();
        let mut plan = Vec::with_capacity(passes.len());
        for pass in passes {
            let dispatch = |(group, jobs): (usize, Vec<ConstraintColumnJob>)| ColumnDispatch {
                group,
                points: jobs.iter().map(|job| u64::from(job.threads)).sum(),
                cosets: jobs.iter().map(|job| job.cosets).max().unwrap_or(0).into(),
                jobs: table.dispatch(jobs.iter().map(|&job| (job, job.threads.div_ceil(block)))),
            };
            plan.push(pass.0.into_iter().map(dispatch).collect());
        }
        Self {
            block,
            passes: plan,
            table,
        }
    }

    /// Uploads the jobs of all passes: two copies.
    pub fn upload(self, s: &CommandStream) -> Result<ColumnPlan, MetalError> {
        Ok(ColumnPlan {
            block: self.block,
            passes: self.passes,
            jobs: self.table.upload(s)?,
        })
    }
}

impl ColumnPlan {
    /// Encodes pass `pass`.
    pub fn encode(
        &self,
        s: &CommandStream,
        plan: &Plan,
        resident: &Resident,
        pass: usize,
        kernel: ColumnKernel<'_>,
        arena: &mut MetalBuffer<F>,
    ) -> Result<(), MetalError> {
        for dispatch in &self.passes[pass] {
            let (jobs, starts) = self.jobs.of(&dispatch.jobs);
            let grid = dispatch.jobs.grid(THREADS);
            let params = ConstraintColumnParams {
                l_skip: plan.input.l_skip as u32,
                block: self.block,
                first_source: 0,
                unused: 0,
            };
            let sources = plan.sources().group(dispatch.group);
            // SAFETY: `jobs`, `starts` and the grid are of one dispatch of a `JobTable`, so each threadgroup finds its job.
            // The entries of the column table lie in the sources of their group, `height_mask` keeps rows inside a
            // column, and the layout that made the jobs gave their results room in `arena`; the tables are those of
            // `l_skip`. Sources and `arena` are whole buffers, which begin at 16 bytes.
            let launched = unsafe {
                match kernel {
                    ColumnKernel::Extend(tables) => kernels::constraint_extend(
                        s,
                        grid,
                        jobs,
                        starts,
                        &resident.columns,
                        tables,
                        &mut *arena,
                        &params,
                        sources,
                        dispatch.points,
                        dispatch.cosets,
                    ),
                    ColumnKernel::Gather => kernels::constraint_gather(
                        s,
                        grid,
                        jobs,
                        starts,
                        &resident.columns,
                        &mut *arena,
                        &params,
                        sources,
                        dispatch.points,
                    ),
                    ColumnKernel::Fold(weights) => kernels::constraint_fold_ple(
                        s,
                        grid,
                        jobs,
                        starts,
                        &resident.columns,
                        weights,
                        &mut *arena,
                        &params,
                        sources,
                        dispatch.points,
                    ),
                }
            };
            launched?;
        }
        Ok(())
    }
}
/// Field tables of the coset extension (`metal/constraints/coset.h`).
pub fn coset_tables(l_skip: usize, cosets: usize) -> Vec<F> {
    use p3_field::{Field, PrimeCharacteristicRing, TwoAdicField};
    let n = 1usize << l_skip;
    let root = F::two_adic_generator(l_skip);
    let mut tables = powers(root.inverse(), n / 2);
    tables.extend(powers(root, n / 2));
    let scale = F::from_usize(n).inverse();
    for shift in F::GENERATOR.powers().skip(1).take(cosets) {
        let powers = powers(shift, n);
        tables.extend((0..n).map(|k| {
            let reversed = if l_skip == 0 {
                0
            } else {
                k.reverse_bits() >> (usize::BITS as usize - l_skip)
            };
            powers[reversed] * scale
        }));
    }
    tables
}
