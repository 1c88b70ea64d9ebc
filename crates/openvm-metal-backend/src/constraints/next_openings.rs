//! Openings of columns one row ahead. The rotated columns that programs read are columns of the folded arena;
//! all others are opened here by one pass over the trace, instead of being folded round by round.

use openvm_metal_common::{CommandStream, MetalBuffer, MetalSlice};

use super::{
    plan::{Plan, Resident},
    sums::{EqLayout, EqTables},
};
use crate::{
    error::MetalProverError,
    jobs::JobTable,
    kernels,
    params::{ConstraintColumnJob, ConstraintColumnParams},
    prelude::EF,
};

/// Most x of a threadgroup; longer columns are cut, and the host adds the sums.
const MAX_POINTS: u32 = 1 << 14;
const THREADS: u32 = 256;

/// Sums on the device that are still to be read.
#[derive(Default)]
pub struct NextOpenings {
    sums: Option<MetalBuffer<EF>>,
    /// Trace and position of the opening that each sum belongs to.
    owners: Vec<(usize, u32)>,
}

impl NextOpenings {
    /// The sums, to be read by the caller.
    pub fn sums(&self) -> Option<MetalSlice<'_, EF>> {
        self.sums.as_ref().map(MetalBuffer::as_slice)
    }

    /// Value `k` of trace `t` is the opening of its `k`-th such column, made from the sums.
    pub fn values(&self, plan: &Plan<'_>, sums: &[EF]) -> Vec<Vec<EF>> {
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

/// Opens at `(r_0, r_1, ..)`; `lagrange`: `L_z(r_0)` on the skip domain. One dispatch for every eight
/// sources and one for the eq tables; nothing at all if there is no such column.
pub fn next_openings(
    s: &CommandStream,
    plan: &Plan<'_>,
    resident: &Resident,
    lagrange: &[EF],
    r: &[EF],
) -> Result<NextOpenings, MetalProverError> {
    let sizes = plan.traces.iter().filter(|trace| trace.next_set.len() > 0);
    let mut sizes = sizes.map(|trace| trace.n_lift).peekable();
    if sizes.peek().is_none() {
        return Ok(NextOpenings::default());
    }
    let layout = EqLayout::new(sizes);
    let eq = EqTables::new(s, &layout, &r[1..])?;
    // The jobs of each group of sources, with their threadgroups.
    let mut dispatches: Vec<(usize, Vec<(ConstraintColumnJob, u32)>)> = Vec::new();
    // Which value each result belongs to, dispatch by dispatch.
    let mut owners: Vec<Vec<(usize, u32)>> = Vec::new();
    for (t, trace) in plan.traces.iter().enumerate() {
        let points = MAX_POINTS.min(1 << trace.n_lift);
        let shares = (1u32 << trace.n_lift) / points;
        let mut position = 0;
        for (group, entries) in trace.next_set.ranges() {
            let d = dispatches
                .iter()
                .position(|d| d.0 == group)
                .unwrap_or_else(|| {
                    dispatches.push((group, Vec::new()));
                    owners.push(Vec::new());
                    dispatches.len() - 1
                });
            let job = ConstraintColumnJob {
                dst: owners[d].len() as u64,
                first_column: entries.start,
                log_points: trace.n_lift as u32,
                height_mask: (1u32 << trace.log_height) - 1,
                column_stride: points,
                coset_stride: u64::from(layout.level(trace.n_lift, 0)),
                ..Default::default()
            };
            let groups = entries.len() as u32 * shares;
            dispatches[d].1.push((job, groups));
            for _ in entries {
                owners[d].extend(std::iter::repeat_n(
                    (t, trace.next_order[position]),
                    shares as usize,
                ));
                position += 1;
            }
        }
    }
    let total: usize = owners.iter().map(Vec::len).sum();
    let mut out = MetalBuffer::<EF>::uninit(s.context(), total)?;
    let lagrange = MetalBuffer::from_host(s, lagrange)?;
    let params = ConstraintColumnParams {
        l_skip: plan.input.l_skip as u32,
        block: THREADS,
        first_source: 0,
        unused: 0,
    };
    let mut table = JobTable::default();
    let mut first = 0;
    let mut launches = Vec::new();
    for (group, jobs) in dispatches {
        let points = jobs
            .iter()
            .map(|(job, groups)| u64::from(job.column_stride) * u64::from(*groups))
            .sum();
        launches.push((group, points, table.dispatch(jobs)));
    }
    let table = table.upload(s)?;
    for (group, points, dispatch) in launches {
        let (jobs, starts) = table.of(&dispatch);
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
                &lagrange,
                results,
                &params,
                plan.sources().group(group),
                eq.tables(),
                points,
            )
        };
        launched?;
        first += count;
    }
    Ok(NextOpenings {
        sums: Some(out),
        owners: owners.concat(),
    })
}
