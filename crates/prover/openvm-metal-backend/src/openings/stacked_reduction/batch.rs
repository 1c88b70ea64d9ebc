//! Batching of all columns of a height into two tables `g_0`, `g_1`: the one pass over the stacked
//! matrices in which every cell meets its powers of lambda.

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalSlice};

use super::{
    claims::{Claims, Height},
    plan::{Plan, TableDispatch},
    ranges::{ColumnDispatch, ColumnJob, Sources},
};
use crate::{
    error::MetalProverError,
    jobs::{DeviceJobs, JobTable},
    kernels,
    params::{StackedColumnJob, StackedTableJob},
    prelude::{D_EF, EF},
};

/// Rows of one threadgroup, as a logarithm.
const LOG_BLOCK: usize = 8;
/// Threadgroups that fill a large GPU.
const GROUPS: usize = 512;
/// Columns of one threadgroup at least.
const MIN_CHUNK: usize = 32;
/// Tables of at least `2^17` rows occupy a GPU without splitting the columns: later ranges of columns add to them
/// in place instead of writing a slot of their own.
const LOG_IN_PLACE: usize = 17;

/// The dispatches of the pass.
pub(super) struct BatchPlan {
    columns: Vec<ColumnDispatch>,
    /// Adds up the slots of heights whose columns were split, which lie behind the tables.
    slots: Option<TableDispatch>,
    slots_len: usize,
    /// Words of slots and sums.
    slot_words: u64,
}

impl BatchPlan {
    /// Adds the jobs to the tables.
    pub fn new(
        claims: &Claims,
        plan: &Plan,
        columns: &mut JobTable<StackedColumnJob>,
        tables: &mut JobTable<StackedTableJob>,
    ) -> Self {
        let (mut jobs, mut sums, mut slots_len) = (Vec::new(), Vec::new(), 0);
        for (height, &at) in claims.heights.iter().zip(&plan.offsets) {
            let slots = plan_height(height, at, plan.tables_len + slots_len, &mut jobs);
            if slots > 0 {
                let len = 2 * height.rows();
                sums.push(StackedTableJob {
                    from: slots_len as u64,
                    to: at as u64,
                    len: len as u32,
                    slots: slots as u32,
                    ..StackedTableJob::default()
                });
                slots_len += slots * len;
            }
        }
        let words = |job: &StackedTableJob| D_EF as u64 * u64::from(job.len * (job.slots + 1));
        Self {
            columns: ColumnDispatch::plan(jobs, columns),
            slot_words: sums.iter().map(words).sum(),
            slots: (!sums.is_empty()).then(|| TableDispatch::sum(tables, sums)),
            slots_len,
        }
    }

    /// Elements behind the tables.
    pub fn scratch_len(&self) -> usize {
        self.slots_len
    }

    /// Encodes `g_0[row] = sum_j lambda^(2 j) q_j[row]` and `g_1[row] = sum_j lambda^(2 j + 1) q_j[row]`
    /// (columns with rotation) for each height, into the tables that `arena` begins with. `weights` begins with the powers.
    #[allow(clippy::too_many_arguments)]
    pub fn encode(
        &self,
        s: &CommandStream,
        plan: &Plan,
        sources: &Sources<'_>,
        columns: &DeviceJobs<StackedColumnJob>,
        tables: &DeviceJobs<StackedTableJob>,
        weights: &MetalSlice<'_, EF>,
        arena: &mut MetalBuffer<EF>,
    ) -> Result<(), MetalProverError> {
        for dispatch in &self.columns {
            let (jobs, starts) = columns.of(&dispatch.jobs);
            let grid = Grid::groups(dispatch.jobs.groups, 1u32 << dispatch.log_block);
            // SAFETY: `jobs`, `starts` and the grid are of one dispatch of a `JobTable`, so each threadgroup finds its job.
            // The columns of a job are cells of its range, their weights are numbered over all columns, and `arena` has room
            // for the tables and behind them for each chunk of a job.
            let launched = unsafe {
                kernels::stacked_batch_rows(
                    s,
                    grid,
                    jobs,
                    starts,
                    weights,
                    &mut *arena,
                    sources.of(dispatch),
                    dispatch.cells,
                )
            };
            launched?;
        }
        if let Some(slots) = &self.slots {
            let (out, scratch) = arena.split_at_mut(plan.tables_len);
            // SAFETY: the slots of a job are the chunks of its height in `scratch`, as long together as its tables in `out`.
            unsafe { slots.encode_sum(s, tables, scratch.as_slice(), out, self.slot_words) }?;
        }
        Ok(())
    }
}

/// Adds the jobs of a height whose tables begin at `table`; `free` is where free memory begins. The number of slots there.
fn plan_height(height: &Height, table: usize, free: usize, jobs: &mut Vec<ColumnJob>) -> usize {
    let log_block = LOG_BLOCK.min(height.log_rows);
    let blocks = height.rows() >> log_block;
    let in_place = height.log_rows >= LOG_IN_PLACE;
    let chunk = |columns: usize| {
        let chunks = GROUPS
            .div_ceil(blocks)
            .min(columns.div_ceil(MIN_CHUNK))
            .max(1);
        if in_place {
            columns
        } else {
            columns.div_ceil(chunks).next_multiple_of(2)
        }
    };
    let count: usize = height
        .column_ranges
        .iter()
        .map(|p| p.columns.div_ceil(chunk(p.columns)))
        .sum();
    let slots = if !in_place && count > 1 { count } else { 0 };
    let mut out = if slots > 0 { free } else { table };
    for (i, column_range) in height.column_ranges.iter().enumerate() {
        let chunk = chunk(column_range.columns);
        let chunks = column_range.columns.div_ceil(chunk);
        let accumulate = slots == 0 && i > 0;
        jobs.push(ColumnJob {
            level: if accumulate { i } else { 0 },
            source: column_range.source,
            groups: chunks * blocks,
            job: StackedColumnJob {
                cells: column_range.cells,
                out: out as u64,
                log_rows: height.log_rows as u32,
                columns: column_range.columns as u32,
                weight: column_range.first_column as u32,
                log_block: log_block as u32,
                chunk: chunk as u32,
                accumulate: u32::from(accumulate),
                rotated: u32::from(column_range.rotated),
                ..StackedColumnJob::default()
            },
        });
        if slots > 0 {
            out += chunks * 2 * height.rows();
        }
    }
    slots
}
