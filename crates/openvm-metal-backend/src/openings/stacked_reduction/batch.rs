//! Batching of all columns of a height into two tables `g_0`, `g_1`: the one pass over the stacked
//! matrices in which every cell meets its powers of lambda.

use openvm_metal_common::{CommandStream, Grid, MemCopyD2D, MetalBuffer};

use super::claims::{Claims, Height, StackedCommit};
use crate::{
    error::MetalProverError,
    kernels,
    params::{OpeningsSumParams, StackedColumnJob, StackedColumnParams},
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

/// Where the tables of one height lie: `g_0`, then `g_1`, then a copy of the first `2^l_skip` elements
/// of `g_1`, so that `g_1` rotated by one hypercube point is a slice too.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchedTable {
    pub offset: usize,
    pub rows: usize,
}

/// The tables of all heights in one buffer, in the order of `Claims::heights`.
pub(super) struct Batched {
    pub arena: MetalBuffer<EF>,
    pub tables: Vec<BatchedTable>,
}

/// Slots of one height that are summed into its table.
struct Slots {
    first: usize,
    count: usize,
}

/// Encodes `g_0[row] = sum_j lambda^(2 j) q_j[row]` and `g_1[row] = sum_j lambda^(2 j + 1) q_j[row]`
/// (columns with rotation) for each height: one dispatch for each range, and one for each height
/// whose columns were split.
pub(super) fn encode_batched(
    s: &CommandStream,
    l_skip: usize,
    claims: &Claims,
    commits: &[StackedCommit<'_>],
    weights: &[EF],
) -> Result<Batched, MetalProverError> {
    let mut tables = Vec::with_capacity(claims.heights.len());
    let mut end = 0;
    for height in &claims.heights {
        tables.push(BatchedTable {
            offset: end,
            rows: height.rows(),
        });
        end += 2 * height.rows() + (1 << l_skip);
    }
    let arena_len = end;
    let mut jobs: Vec<(usize, usize, StackedColumnJob)> = Vec::new();
    let mut slots = Vec::with_capacity(tables.len());
    for (height, table) in claims.heights.iter().zip(&tables) {
        slots.push(plan_height(height, table, &mut end, &mut jobs));
    }
    jobs.sort_by_key(|&(commit, range, _)| (commit, range));

    let mut out = MetalBuffer::<EF>::uninit(s.context(), end)?;
    let weights = MetalBuffer::from_host(s, weights)?;
    let mut groups = Vec::new();
    for of_range in jobs.chunk_by_mut(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let mut first_group = 0;
        for (_, _, job) in of_range.iter_mut() {
            job.first_group = first_group;
            let chunks = job.columns.div_ceil(job.chunk);
            first_group += chunks << (job.log_rows - job.log_block);
        }
        groups.push(first_group);
    }
    let uploaded: Vec<StackedColumnJob> = jobs.iter().map(|r| r.2).collect();
    let uploaded = MetalBuffer::from_host(s, &uploaded)?;
    let mut first = 0;
    for (of_range, groups) in jobs.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).zip(groups) {
        let (commit, range, _) = of_range[0];
        let log_threads = of_range.iter().map(|r| r.2.log_block).max().unwrap_or(0);
        let total = of_range
            .iter()
            .map(|(_, _, job)| u64::from(job.columns) << job.log_rows)
            .sum();
        // SAFETY: `groups` counts the shares of the jobs; their columns are cells of this range, their
        // weights are numbered over all columns, and `out` has room for each chunk of a job.
        let launched = unsafe {
            kernels::stacked_batch_rows(
                s,
                Grid::groups(groups, 1u32 << log_threads),
                commits[commit].ranges[range].cells.slice(),
                &weights,
                uploaded.slice(first..first + of_range.len()),
                &mut out,
                &StackedColumnParams {
                    jobs: of_range.len() as u32,
                    log_low: 0,
                },
                total,
            )
        };
        launched?;
        first += of_range.len();
    }
    let (mut arena, scratch) = out.split_at_mut(arena_len);
    for (table, slots) in tables.iter().zip(&slots) {
        let Some(slots) = slots else { continue };
        let from = slots.first - arena_len;
        let len = 2 * table.rows;
        let words = len * D_EF;
        kernels::stacked_sum_slots(
            s,
            Grid::threads(words),
            scratch
                .as_slice()
                .slice(from..from + slots.count * len)
                .cast()?,
            arena.slice_mut(table.offset..table.offset + len).cast()?,
            &OpeningsSumParams {
                len: words as u64,
                slots: slots.count as u32,
                pad: 0,
            },
        )?;
    }
    for table in &tables {
        wrap(
            s,
            &mut arena,
            table.offset + table.rows,
            table.rows,
            1 << l_skip,
        )?;
    }
    out.truncate(arena_len);
    Ok(Batched { arena: out, tables })
}

/// Copies the first `count` of the `len` elements from `first` on behind them.
pub(super) fn wrap(
    s: &CommandStream,
    buffer: &mut openvm_metal_common::MetalSliceMut<'_, EF>,
    first: usize,
    len: usize,
    count: usize,
) -> Result<(), MetalProverError> {
    let (head, mut tail) = buffer.split_at_mut(first + len);
    head.as_slice()
        .slice(first..first + count)
        .copy_to(tail.slice_mut(0..count), s)?;
    Ok(())
}

/// Adds the jobs of a height; `end` is where free memory begins.
fn plan_height(
    height: &Height,
    table: &BatchedTable,
    end: &mut usize,
    jobs: &mut Vec<(usize, usize, StackedColumnJob)>,
) -> Option<Slots> {
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
    let slots = (!in_place && count > 1).then_some(Slots { first: *end, count });
    let mut out = slots.as_ref().map_or(table.offset, |slots| slots.first);
    for (i, column_range) in height.column_ranges.iter().enumerate() {
        let chunk = chunk(column_range.columns);
        jobs.push((
            column_range.commit,
            column_range.range,
            StackedColumnJob {
                cells: column_range.cells,
                out: out as u64,
                log_rows: height.log_rows as u32,
                columns: column_range.columns as u32,
                weight: column_range.first_column as u32,
                first_group: 0,
                log_block: log_block as u32,
                chunk: chunk as u32,
                accumulate: u32::from(slots.is_none() && i > 0),
                rotated: u32::from(column_range.rotated),
            },
        ));
        if slots.is_some() {
            out += column_range.columns.div_ceil(chunk) * 2 * table.rows;
        }
    }
    if slots.is_some() {
        *end = out;
    }
    slots
}
