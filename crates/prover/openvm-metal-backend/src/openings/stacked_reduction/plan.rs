//! Places of the tables of all heights, and the jobs of every dispatch over them. Both follow from the shapes
//! alone, so the jobs of all rounds are planned and uploaded once.

use openvm_metal_common::{CommandStream, MetalError, MetalSlice, MetalSliceMut};

use super::claims::{Claims, Height};
use crate::{
    jobs::{DeviceJobs, DispatchJobs, JobTable},
    kernels,
    params::{StackedTableJob, StackedTableParams},
    prelude::{EF, F},
};

/// Threads of a threadgroup.
pub(super) const THREADS: u32 = 256;
/// Threadgroups of a round at about most: the host adds their sums.
const GROUPS: usize = 256;
/// Pairs of a threadgroup at least, if a height has so many.
const MIN_PAIRS: usize = 256;
/// Threadgroups of the univariate round at about most, and their points at least.
const SKIP_GROUPS: usize = 512;
const MIN_POINTS: usize = 64;
/// Threadgroups whose sums of the univariate round are added up on the device; what is left is added on the host.
const SLOTS: usize = 32;
/// Words of a threadgroup that adds slots up.
const WORDS: u32 = 1024;

/// Elements of the tables of a height before the univariate round: `g_0` and `g_1` of `2^(l_skip + vars)` elements; if there are
/// variables, two weights and another `2^vars`.
pub(crate) fn batched_len(l_skip: usize, vars: usize) -> usize {
    let weights = if vars > 0 { 2 + (1 << vars) } else { 0 };
    (2 << (l_skip + vars)) + weights
}

/// Elements of the tables of a height in a round: `g_0` and `g_1` of `2^vars` elements, two weights and one for each pair.
pub(crate) fn round_len(vars: usize) -> usize {
    (2 << vars) + 2 + (1 << vars) / 2
}

/// Points of a threadgroup of the univariate round, and threadgroups, for heights of so many variables.
fn skip_groups(vars: impl Iterator<Item = usize> + Clone) -> (usize, usize) {
    let points: usize = vars.clone().map(|vars| 1 << vars).sum();
    let block = points.div_ceil(SKIP_GROUPS).next_power_of_two();
    let block = block.max(MIN_POINTS);
    (
        block,
        vars.map(|vars| (1usize << vars).div_ceil(block)).sum(),
    )
}

/// Elements of the sums of all threadgroups of the univariate round.
pub(crate) fn partials_len(l_skip: usize, vars: impl Iterator<Item = usize> + Clone) -> usize {
    skip_groups(vars).1 * (3 << l_skip)
}

/// One dispatch over tables.
pub(super) struct TableDispatch {
    pub jobs: DispatchJobs,
    /// Points, pairs or words of a threadgroup.
    pub block: u32,
    /// Points, pairs or words of all jobs.
    pub count: u64,
}

impl TableDispatch {
    /// Each job with its `count` of points, pairs or words.
    fn new(
        table: &mut JobTable<StackedTableJob>,
        block: usize,
        jobs: impl IntoIterator<Item = (StackedTableJob, usize)>,
    ) -> Self {
        let mut sum = 0;
        let jobs = jobs.into_iter().map(|(job, count)| {
            sum += count as u64;
            (job, count.div_ceil(block) as u32)
        });
        Self {
            jobs: table.dispatch(jobs),
            block: block as u32,
            count: sum,
        }
    }

    /// A dispatch that adds slots up.
    pub fn sum(
        table: &mut JobTable<StackedTableJob>,
        jobs: impl IntoIterator<Item = StackedTableJob>,
    ) -> Self {
        let jobs = jobs.into_iter().map(|job| (job, 4 * job.len as usize));
        Self::new(table, WORDS as usize, jobs)
    }

    /// Encodes a dispatch of [`Self::sum`].
    ///
    /// # Safety
    /// The slots of each job lie in `slots`, its sums in `out`.
    pub unsafe fn encode_sum(
        &self,
        s: &CommandStream,
        jobs: &DeviceJobs<StackedTableJob>,
        slots: MetalSlice<'_, EF>,
        out: MetalSliceMut<'_, EF>,
        words: u64,
    ) -> Result<(), MetalError> {
        let (slots, out): (MetalSlice<'_, F>, MetalSliceMut<'_, F>) = (slots.cast()?, out.cast()?);
        let grid = self.jobs.grid(THREADS);
        let params = self.params(0, 0);
        let (jobs, starts) = jobs.of(&self.jobs);
        // SAFETY: `jobs`, `starts` and the grid are of one dispatch of a `JobTable`; the caller says where slots and sums lie.
        unsafe { kernels::stacked_sum_slots(s, grid, jobs, starts, slots, out, &params, words) }
    }

    /// Parameters of its kernel.
    pub fn params(&self, l_skip: usize, log_low: usize) -> StackedTableParams {
        StackedTableParams {
            block: self.block,
            l_skip: l_skip as u32,
            log_low: log_low as u32,
            unused: 0,
        }
    }
}

/// A round on the device.
pub(super) struct RoundPlan {
    pub dispatch: TableDispatch,
    /// Elements of its tables, and where those of each height that takes part begin.
    pub len: usize,
    pub offsets: Vec<usize>,
}

/// The univariate round and those after it, where the tallest height is large enough for the device.
pub(super) struct DevicePlan {
    /// Heights with variables; the others are one element of the hypercube.
    pub heights: usize,
    /// Variables of the low weights at most.
    pub log_low: usize,
    pub weights: TableDispatch,
    pub skip: TableDispatch,
    /// Elements of the sums of the threadgroups of `skip`, which lie behind the tables.
    pub partials_len: usize,
    /// Adds them up, and copies the tables of heights without variables behind the sums.
    pub add: TableDispatch,
    /// Slots of sums that are left, `3 * 2^l_skip` elements each.
    pub sums: usize,
    /// Elements of the sums and copies.
    pub sums_len: usize,
    /// From round 1 on.
    pub rounds: Vec<RoundPlan>,
}

/// The plan of a proof.
pub(super) struct Plan {
    pub l_skip: usize,
    /// First element of the tables of each height: `g_0`, `g_1`, weights ([`batched_len`]).
    pub offsets: Vec<usize>,
    /// Elements of the tables of all heights.
    pub tables_len: usize,
    /// Nothing if the host finishes all heights.
    pub device: Option<DevicePlan>,
}

impl Plan {
    /// Adds the jobs of all dispatches to `jobs`. Rounds in which the tallest height has at most `2^host_log_rows` rows are the host's, but for the
    /// first one after a univariate round on the device.
    pub fn new(
        l_skip: usize,
        claims: &Claims,
        host_log_rows: usize,
        jobs: &mut JobTable<StackedTableJob>,
    ) -> Self {
        let vars: Vec<usize> = claims.heights.iter().map(Height::n_lift).collect();
        let (offsets, tables_len) = laid_out(vars.iter().map(|&n| batched_len(l_skip, n)));
        let tallest = vars.first().copied().unwrap_or(0);
        let on_device = tallest > 0 && l_skip + tallest > host_log_rows;
        Self {
            l_skip,
            device: on_device
                .then(|| DevicePlan::new(l_skip, &vars, &offsets, tables_len, host_log_rows, jobs)),
            offsets,
            tables_len,
        }
    }
}

impl DevicePlan {
    fn new(
        l_skip: usize,
        vars: &[usize],
        offsets: &[usize],
        tables_len: usize,
        host_log_rows: usize,
        jobs: &mut JobTable<StackedTableJob>,
    ) -> Self {
        let tallest = vars[0];
        let heights = vars.iter().filter(|&&n| n > 0).count();
        let (tall, flat) = vars.split_at(heights);
        let log_low = tallest.div_ceil(2);
        let job = |from: usize, to: usize, len: usize| StackedTableJob {
            from: from as u64,
            to: to as u64,
            len: len as u32,
            ..StackedTableJob::default()
        };

        let weights = tall.iter().zip(offsets).map(|(&n, &at)| {
            let mut job = job(0, at + (2 << (l_skip + n)) + 2, 1 << n);
            job.log_len = n as u32;
            (job, 1 << n)
        });
        let block = (THREADS as usize).min(1 << log_low);
        let weights = TableDispatch::new(jobs, block, weights);
        let (block, groups) = skip_groups(tall.iter().copied());
        let points = tall.iter().zip(offsets);
        let points = points.map(|(&n, &at)| (job(at, 0, 1 << n), 1 << n));
        let skip = TableDispatch::new(jobs, block, points);

        let len = 3 << l_skip;
        let sums = groups.div_ceil(SLOTS);
        let added = (0..sums).map(|k| StackedTableJob {
            slots: SLOTS.min(groups - k * SLOTS) as u32,
            ..job(tables_len + k * SLOTS * len, k * len, len)
        });
        let copied = flat.iter().enumerate().map(|(k, _)| StackedTableJob {
            slots: 1,
            ..job(
                offsets[heights + k],
                sums * len + (k << (l_skip + 1)),
                2 << l_skip,
            )
        });
        let add = TableDispatch::sum(jobs, added.chain(copied));

        let last = tallest.saturating_sub(host_log_rows).max(1);
        let mut from = offsets.to_vec();
        let rounds = (1..=last).map(|round| {
            let left = || tall.iter().filter(|&&n| n >= round).map(|&n| n - round);
            let (to, len) = laid_out(left().map(|n| round_len(n + 1)));
            let pairs: usize = left().map(|n| 1 << n).sum();
            let block = pairs.div_ceil(GROUPS).next_power_of_two().max(MIN_PAIRS);
            let pairs = left().zip(from.iter().zip(&to));
            let pairs = pairs.map(|(n, (&from, &to))| (job(from, to, 1 << n), 1 << n));
            let dispatch = TableDispatch::new(jobs, block, pairs);
            from.clone_from(&to);
            RoundPlan {
                dispatch,
                len,
                offsets: to,
            }
        });
        let rounds = rounds.collect();
        Self {
            heights,
            log_low,
            weights,
            skip,
            partials_len: groups * len,
            add,
            sums,
            sums_len: sums * len + (flat.len() << (l_skip + 1)),
            rounds,
        }
    }
}

/// Starts of consecutive buffers of these lengths, and the end of the last one.
fn laid_out(lens: impl Iterator<Item = usize>) -> (Vec<usize>, usize) {
    let mut end = 0;
    let mut offsets = Vec::new();
    for len in lens {
        offsets.push(end);
        end += len;
    }
    (offsets, end)
}
