//! Openings of columns one row ahead. The rotated columns that programs read are columns of the folded arena;
//! all others are opened here by one pass over the trace, instead of being folded round by round.

use openvm_metal_common::{CommandStream, MetalBuffer};

use super::{
    plan::{Plan, Resident},
    sums::{DevicePoint, EqLayout, EqTables},
};
use crate::{
    error::MetalProverError,
    jobs::{DispatchJobs, JobTable},
    kernels,
    params::{ConstraintColumnJob, ConstraintColumnParams},
    prelude::EF,
};

/// Most x of a threadgroup; longer columns are cut, and the host adds the sums.
const MAX_POINTS: u32 = 1 << 14;
const THREADS: u32 = 256;

/// The dispatches, planned from the shapes.
#[derive(Default)]
pub struct NextPlan {
    eq: EqLayout,
    /// For each: the group of sources, and the points of all jobs.
    dispatches: Vec<(usize, u64, DispatchJobs)>,
    jobs: JobTable<ConstraintColumnJob>,
    /// Trace and position of the opening that each sum belongs to.
    owners: Vec<(usize, u32)>,
}

impl NextPlan {
    /// Plans the openings of all traces: one dispatch for every eight sources, nothing at all if there is no such column.
    pub fn new(plan: &Plan) -> Self {
        let sizes = plan.traces.iter().filter(|trace| trace.next_set.len() > 0);
        let mut sizes = sizes.map(|trace| trace.n_lift).peekable();
        if sizes.peek().is_none() {
            return Self::default();
        }
        let eq = EqLayout::new(sizes);
        // The jobs of each group of sources, with their threadgroups.
        let mut groups: Vec<(usize, Vec<(ConstraintColumnJob, u32)>)> = Vec::new();
        // Which value each result belongs to, group by group.
        let mut owners: Vec<Vec<(usize, u32)>> = Vec::new();
        for (t, trace) in plan.traces.iter().enumerate() {
            let points = MAX_POINTS.min(1 << trace.n_lift);
            let shares = (1u32 << trace.n_lift) / points;
            let mut position = 0;
            for (group, entries) in trace.next_set.ranges() {
                let known = groups.iter().position(|of| of.0 == group);
                let g = known.unwrap_or_else(|| {
                    groups.push((group, Vec::new()));
                    owners.push(Vec::new());
                    groups.len() - 1
                });
                let job = ConstraintColumnJob {
                    dst: owners[g].len() as u64,
                    first_column: entries.start,
                    log_points: trace.n_lift as u32,
                    height_mask: (1u32 << trace.log_height) - 1,
                    column_stride: points,
                    coset_stride: u64::from(eq.level(trace.n_lift, 0)),
                    ..Default::default()
                };
                groups[g].1.push((job, entries.len() as u32 * shares));
                for _ in entries {
                    let owner = (t, trace.next_order[position]);
                    owners[g].extend(std::iter::repeat_n(owner, shares as usize));
                    position += 1;
                }
            }
        }
        let mut jobs = JobTable::default();
        let dispatch = |(group, of_group): (usize, Vec<(ConstraintColumnJob, u32)>)| {
            let points = of_group
                .iter()
                .map(|(job, groups)| u64::from(job.column_stride) * u64::from(*groups));
            (group, points.sum(), jobs.dispatch(of_group.iter().copied()))
        };
        Self {
            eq,
            dispatches: groups.into_iter().map(dispatch).collect(),
            jobs,
            owners: owners.concat(),
        }
    }

    /// Encodes the sums at `r_0`, of which `lagrange` is `L_z(r_0)` on the skip domain, and the point of the rounds. `None` if there is no such
    /// column.
    pub fn encode(
        &self,
        s: &CommandStream,
        plan: &Plan,
        resident: &Resident,
        lagrange: &MetalBuffer<EF>,
        point: DevicePoint<'_>,
    ) -> Result<Option<MetalBuffer<EF>>, MetalProverError> {
        if self.owners.is_empty() {
            return Ok(None);
        }
        let eq = EqTables::new(s, &self.eq, point)?;
        let mut out = MetalBuffer::<EF>::uninit(s.context(), self.owners.len())?;
        let params = ConstraintColumnParams {
            l_skip: plan.input.l_skip as u32,
            block: THREADS,
            first_source: 0,
            unused: 0,
        };
        let table = self.jobs.upload(s)?;
        let mut first = 0;
        for (group, points, dispatch) in &self.dispatches {
            let (jobs, starts) = table.of(dispatch);
            let count = dispatch.groups as usize;
            let results = out.slice_mut(first..first + count);
            // SAFETY: `jobs`, `starts` and the grid are of one dispatch of a `JobTable`, so each threadgroup finds its job. It
            // writes to its place in `results`; the entries of the column table lie in the sources of their group,
            // `height_mask` keeps rows inside a column, and level 0 of `eq` has a weight for each of its x.
            let launched = unsafe {
                kernels::constraint_open_next(
                    s,
                    dispatch.grid(THREADS),
                    jobs,
                    starts,
                    &resident.columns,
                    lagrange,
                    results,
                    &params,
                    plan.sources().group(*group),
                    eq.tables(),
                    *points,
                )
            };
            launched?;
            first += count;
        }
        Ok(Some(out))
    }

    /// Value `k` of trace `t` is the opening of its `k`-th such column, made from the sums.
    pub fn values(&self, plan: &Plan, sums: &[EF]) -> Vec<Vec<EF>> {
        let traces = plan.traces.iter();
        let mut values: Vec<Vec<EF>> = traces
            .map(|trace| vec![EF::default(); trace.next_set.len()])
            .collect();
        for (&(t, k), &sum) in self.owners.iter().zip(sums) {
            values[t][k as usize] += sum;
        }
        values
    }
}
