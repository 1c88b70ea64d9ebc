//! Plans that follow from the shapes of the commitments: plans, and the jobs of all dispatches on the device.

use openvm_metal_common::CommandStream;

use super::{
    batch::BatchPlan,
    blocks::BlockPlan,
    claims::{self, Claims, Height, StackedCommit},
    columns::BoundColumns,
    plan::Plan,
};
use crate::{
    error::MetalProverError,
    jobs::{DeviceJobs, JobTable},
    params::{StackedColumnJob, StackedTableJob},
};

/// The plan of a reduction, on the host.
pub struct ReductionPlan {
    pub(super) n_stack: usize,
    /// Shapes of the commitments that it is for: the width of each stacked matrix, and the first cell and number of cells of each range.
    shapes: Vec<(usize, Vec<(u64, usize)>)>,
    host_log_rows: usize,
    pub(super) claims: Claims,
    pub(super) plan: Plan,
    pub(super) batch: BatchPlan,
    pub(super) bound: Vec<BoundColumns>,
    pub(super) blocks: BlockPlan,
    tables: JobTable<StackedTableJob>,
    columns: JobTable<StackedColumnJob>,
}

/// A plan whose jobs are on the device.
pub struct PlannedReduction {
    pub(super) plan: ReductionPlan,
    pub(super) tables: DeviceJobs<StackedTableJob>,
    pub(super) columns: DeviceJobs<StackedColumnJob>,
}

impl ReductionPlan {
    /// Plans the reduction of stacked matrices of `2^(l_skip + n_stack)` rows. The host finishes heights of at most `2^host_log_rows` rows
    /// ([`host_log_rows`](super::host_log_rows)).
    ///
    /// # Errors
    /// Ranges that do not hold the columns of their layout, columns taller than the stacked matrices.
    pub fn new(
        l_skip: usize,
        n_stack: usize,
        commits: &[StackedCommit<'_>],
        host_log_rows: usize,
    ) -> Result<Self, MetalProverError> {
        let claims = Claims::new(l_skip, commits)?;
        let tallest = claims.heights.first().map_or(0, Height::n_lift);
        if tallest > n_stack {
            return Err(claims::internal(format!(
                "a column of 2^{} rows in stacked matrices of 2^{}",
                l_skip + tallest,
                l_skip + n_stack,
            )));
        }
        let (mut columns, mut tables) = (JobTable::default(), JobTable::default());
        let plan = Plan::new(l_skip, &claims, host_log_rows, &mut tables);
        let batch = BatchPlan::new(&claims, &plan, &mut columns, &mut tables);
        let bound = BoundColumns::plan(l_skip, &claims, &mut columns);
        Ok(Self {
            n_stack,
            shapes: commits.iter().map(shape).collect(),
            host_log_rows,
            blocks: BlockPlan::new(n_stack, &claims, &bound),
            claims,
            plan,
            batch,
            bound,
            tables,
            columns,
        })
    }

    /// Checks that the plan is one for these commitments, a point of so many coordinates, and this choice of [`new`](Self::new).
    pub(super) fn check(
        &self,
        commits: &[StackedCommit<'_>],
        coordinates: usize,
        host_log_rows: usize,
    ) -> Result<(), MetalProverError> {
        let tallest = self.claims.heights.first().map_or(0, Height::n_lift);
        if tallest >= coordinates {
            return Err(claims::internal(format!(
                "a column of 2^{} rows opened at {coordinates} coordinates",
                self.plan.l_skip + tallest,
            )));
        }
        if !commits.iter().map(shape).eq(self.shapes.iter().cloned()) {
            return Err(claims::internal("a plan for other commitments".into()));
        }
        if host_log_rows != self.host_log_rows {
            return Err(claims::internal("a plan for another transcript".into()));
        }
        Ok(())
    }

    /// Uploads the jobs: four copies.
    ///
    /// # Errors
    /// Failures of the device.
    pub fn upload(self, s: &CommandStream) -> Result<PlannedReduction, MetalProverError> {
        Ok(PlannedReduction {
            tables: self.tables.upload(s)?,
            columns: self.columns.upload(s)?,
            plan: self,
        })
    }
}

/// Properties of a commitment that the jobs depend on, but for the layout of its columns.
fn shape(commit: &StackedCommit<'_>) -> (usize, Vec<(u64, usize)>) {
    let ranges = commit.ranges.iter();
    let ranges = ranges.map(|range| (range.start, range.cells.len()));
    (commit.layout.width(), ranges.collect())
}
