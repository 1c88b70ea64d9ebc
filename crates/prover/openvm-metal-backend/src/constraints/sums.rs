//! Weighted sums of evaluations over a hypercube, and the eq tables they are weighted with.

use std::collections::BTreeMap;

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalError, MetalSlice};

use crate::{
    jobs::JobTable,
    kernels,
    params::{ConstraintEqJob, ConstraintEqParams, ConstraintSumJob},
    prelude::{EF, F},
};

/// Elements of all sections that a threadgroup sums at most, and the fewest of one section where there are many sections; longer
/// sums are joined. Eight for each thread: more would leave most of a GPU idle.
const MAX_ELEMENTS: u32 = 1 << 10;
const MIN_LENGTH: u32 = 1 << 3;
const THREADS: u32 = 128;
/// Threads that join the parts of a sum.
pub(super) const JOIN_THREADS: u32 = 64;

/// Elements of one section that a threadgroup sums at most, a power of two.
fn most_at_once(sections: u32) -> u32 {
    (MAX_ELEMENTS / sections.max(1).next_power_of_two()).max(MIN_LENGTH)
}

/// Places of the eq tables of all hypercube sizes: for each `n`, in natural order over all `n` coordinates, and
/// for `j = 1..=n` in bit-reversed order over the coordinates from `j` on.
#[derive(Default)]
pub struct EqLayout {
    /// First entry of each size.
    first: BTreeMap<usize, u32>,
    jobs: Vec<ConstraintEqJob>,
    /// Entries of all tables.
    len: u64,
}

/// The eq tables of a layout at a point.
pub struct EqTables(MetalBuffer<EF>);

/// A point on the device: every `stride`-th element is a coordinate.
#[derive(Clone, Copy)]
pub struct DevicePoint<'a> {
    pub elements: MetalSlice<'a, EF>,
    pub stride: usize,
}

impl EqLayout {
    /// For hypercubes of so many variables.
    pub fn new(sizes: impl IntoIterator<Item = usize>) -> Self {
        let mut layout = Self::default();
        for n in sizes {
            if layout.first.contains_key(&n) {
                continue;
            }
            layout.first.insert(n, layout.len as u32);
            for j in 0..=n {
                // Level 0 in natural order.
                let vars = if j == 0 { n } else { n - j };
                layout.jobs.push(ConstraintEqJob {
                    out: layout.len,
                    vars: vars as u32,
                    point: j as u32,
                    reversed: u32::from(j > 0),
                    ..Default::default()
                });
                layout.len += 1 << vars;
            }
        }
        layout
    }

    /// First entry of the table of level `j` for size `n`.
    pub fn level(&self, n: usize, j: usize) -> u32 {
        let before: u32 = (0..j).map(|j| 1u32 << if j == 0 { n } else { n - j }).sum();
        self.first[&n] + before
    }
}

impl EqTables {
    /// `xi`: the coordinates after the skip variables, one for each variable of the largest size. One dispatch.
    pub fn new(
        s: &CommandStream,
        layout: &EqLayout,
        xi: DevicePoint<'_>,
    ) -> Result<Self, MetalError> {
        const BLOCK: u32 = 256;
        let mut tables = MetalBuffer::uninit(s.context(), layout.len as usize)?;
        let mut table = JobTable::default();
        let jobs = layout.jobs.iter();
        let dispatch = table.dispatch(jobs.map(|&job| (job, (1u32 << job.vars).div_ceil(BLOCK))));
        let table = table.upload(s)?;
        let (grid, (jobs, starts)) = (dispatch.grid(BLOCK), table.of(&dispatch));
        let params = ConstraintEqParams {
            stride: xi.stride as u32,
            block: BLOCK,
        };
        let vars = layout.first.keys().max().copied().unwrap_or(0) as u64;
        let len = layout.len;
        // SAFETY: `jobs`, `starts` and the grid are of one dispatch of a `JobTable`, so each threadgroup finds its job.
        // The tables of the jobs lie one after the other in `tables`, which has `len` entries; job j of size n reads
        // coordinates j to n of `xi`, and every size has that many (`DevicePoint`).
        unsafe {
            kernels::constraint_eq_tables(
                s,
                grid,
                jobs,
                starts,
                xi.elements,
                &mut tables,
                &params,
                len,
                vars,
            )?;
        }
        Ok(Self(tables))
    }

    /// All tables.
    pub fn tables(&self) -> &MetalBuffer<EF> {
        &self.0
    }
}

/// Sums to compute, each for a slot of the caller.
#[derive(Default)]
pub struct SumPlan {
    jobs: Vec<ConstraintSumJob>,
    slots: Vec<usize>,
    passes: Vec<usize>,
}

impl SumPlan {
    /// Adds a sum; `job.length` may be any length.
    pub fn push(&mut self, slot: usize, job: ConstraintSumJob) {
        let most = most_at_once(job.sections);
        let mut done = 0;
        while done < job.length {
            let length = (job.length - done).min(most);
            self.jobs.push(ConstraintSumJob {
                partials: job.partials + u64::from(done),
                weights: job.weights + done,
                length,
                ..job
            });
            self.slots.push(slot);
            done += length;
        }
    }

    /// Ends a pass: the sums added since the last end are one dispatch.
    pub fn end_pass(&mut self) {
        self.passes.push(self.jobs.len());
    }

    /// Parts of one slot that follow one another, over all passes.
    pub fn runs(&self) -> SumRuns {
        let mut runs = SumRuns::default();
        let mut first = 0;
        for run in self.slots.chunk_by(|a, b| a == b) {
            runs.firsts.push(first);
            runs.slots.push(run[0]);
            first += run.len() as u32;
        }
        runs.firsts.push(first);
        runs
    }

    /// Uploads the jobs.
    pub fn upload(self, s: &CommandStream) -> Result<Sums, MetalError> {
        Ok(Sums {
            jobs: MetalBuffer::from_host(s, &self.jobs)?,
            sums: MetalBuffer::uninit(s.context(), self.jobs.len().max(1))?,
            elements: self
                .jobs
                .iter()
                .map(|job| u64::from(job.length) * u64::from(job.sections))
                .collect(),
            slots: self.slots,
            passes: self.passes,
        })
    }
}

/// Result of [`Sums::join`]: a sum for each run.
pub struct JoinedSums(MetalBuffer<EF>);

/// Sums that were cut into parts, to be joined before they are read.
#[derive(Default)]
pub struct SumRuns {
    /// The first part of each, and the number of all parts.
    firsts: Vec<u32>,
    slots: Vec<usize>,
}

/// Uploaded sums.
pub struct Sums {
    jobs: MetalBuffer<ConstraintSumJob>,
    sums: MetalBuffer<EF>,
    /// Elements of each job.
    elements: Vec<u64>,
    slots: Vec<usize>,
    passes: Vec<usize>,
}

impl Sums {
    fn range(&self, pass: usize) -> std::ops::Range<usize> {
        let begin = if pass == 0 { 0 } else { self.passes[pass - 1] };
        begin..self.passes[pass]
    }

    /// Encodes the sums of a pass.
    pub fn encode(
        &mut self,
        s: &CommandStream,
        pass: usize,
        partials: &MetalBuffer<F>,
        eq: &EqTables,
    ) -> Result<(), MetalError> {
        let range = self.range(pass);
        if range.is_empty() {
            return Ok(());
        }
        let grid = Grid::groups(range.len() as u32, THREADS);
        let jobs = self.jobs.slice(range.clone());
        let elements = self.elements[range.clone()].iter().sum();
        // SAFETY: the plan of the jobs gave `partials` room for all sections of their elements, and their
        // weights are tables of `eq`, which have an entry for each element.
        unsafe {
            kernels::constraint_sum(
                s,
                grid,
                jobs,
                partials,
                eq.tables(),
                self.sums.slice_mut(range),
                elements,
            )
        }
    }

    /// The sums of a pass, in the order of their slots.
    pub fn of(&self, pass: usize) -> MetalSlice<'_, EF> {
        self.sums.slice(self.range(pass))
    }

    /// First sum of each of the `slots` slots of a pass, and the end of the last one, counted from the first of the pass on.
    /// Slots from 0 were filled one after the other.
    pub fn firsts(&self, pass: usize, slots: usize) -> Vec<u32> {
        let of_pass = &self.slots[self.range(pass)];
        debug_assert!(of_pass.is_sorted_by(|a, b| (*a..=*a + 1).contains(b)));
        debug_assert_eq!(of_pass.last().map_or(0, |&last| last + 1), slots);
        let first = |slot| of_pass.partition_point(|&of| of < slot) as u32;
        (0..=slots).map(first).collect()
    }

    /// Encodes the join of all passes: one dispatch, unless no sum was cut.
    pub fn join(
        &self,
        s: &CommandStream,
        runs: &SumRuns,
    ) -> Result<Option<JoinedSums>, MetalError> {
        let (joined, parts) = (runs.slots.len(), self.slots.len());
        if joined == parts {
            return Ok(None);
        }
        let firsts = MetalBuffer::from_host(s, &runs.firsts)?;
        let mut sums = MetalBuffer::uninit(s.context(), joined)?;
        let grid = Grid::groups(joined as u32, JOIN_THREADS);
        let (from, elements) = (self.sums.slice(..parts), parts as u64);
        // SAFETY: the firsts rise from 0 to the number of parts.
        unsafe { kernels::constraint_join_sums(s, grid, &firsts, from, &mut sums, elements)? };
        Ok(Some(JoinedSums(sums)))
    }

    /// Waits, adds what was joined, or the sums of all passes if none was cut, to the slots, and gives what else was to be read.
    pub fn read_joined(
        &self,
        s: &CommandStream,
        runs: &SumRuns,
        joined: Option<JoinedSums>,
        slots: &mut [EF],
        other: MetalSlice<'_, EF>,
    ) -> Result<Vec<EF>, MetalError> {
        let (slot_of, sums) = match &joined {
            Some(JoinedSums(sums)) => (&runs.slots, sums.slice(..)),
            None => (&self.slots, self.sums.slice(..self.slots.len())),
        };
        let mut read = s.read_many(&[sums, other])?.into_iter();
        for (&slot, sum) in slot_of.iter().zip(read.next().unwrap_or_default()) {
            slots[slot] += sum;
        }
        Ok(read.next().unwrap_or_default())
    }

    /// Waits, and adds the sums of passes `passes` to the slots.
    pub fn read(
        &self,
        s: &CommandStream,
        passes: std::ops::Range<usize>,
        slots: &mut [EF],
    ) -> Result<(), MetalError> {
        if passes.is_empty() {
            return Ok(());
        }
        let range = self.range(passes.start).start..self.range(passes.end - 1).end;
        if range.is_empty() {
            return Ok(());
        }
        let sums = self.sums.slice(range.clone()).to_host(s)?;
        for (&slot, sum) in self.slots[range].iter().zip(sums) {
            slots[slot] += sum;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long sum is cut into neighbouring parts that are added to one slot; the more sections it has, the shorter they are.
    #[test]
    fn long_sums_are_cut() {
        for (sections, most) in [(1, MAX_ELEMENTS), (3, MAX_ELEMENTS / 4), (512, MIN_LENGTH)] {
            for length in [0, 1, most, most + 1, 3 * most + 5] {
                let mut plan = SumPlan::default();
                let (partials, weights) = (1 << 33, 77);
                let job = ConstraintSumJob {
                    partials,
                    weights,
                    length,
                    sections,
                    ..ConstraintSumJob::default()
                };
                plan.push(9, job);
                let mut done = 0;
                for job in &plan.jobs {
                    assert_eq!(job.partials, partials + u64::from(done));
                    assert_eq!(job.weights, weights + done);
                    assert!((1..=most).contains(&job.length));
                    assert_eq!(job.sections, sections);
                    done += job.length;
                }
                assert_eq!(done, length);
                assert_eq!(plan.jobs.len() as u32, length.div_ceil(most));
                assert_eq!(plan.slots, vec![9; plan.jobs.len()]);
            }
        }
    }

    /// Parts of one slot that follow one another are a run, also across the end of a pass; a slot may have several runs.
    #[test]
    fn parts_of_a_slot_are_joined() {
        let mut plan = SumPlan::default();
        let job = |length| ConstraintSumJob {
            length,
            sections: 1,
            ..ConstraintSumJob::default()
        };
        assert_eq!(plan.runs().firsts, [0]);
        plan.push(3, job(2 * MAX_ELEMENTS + 1));
        plan.push(1, job(5));
        plan.end_pass();
        plan.push(1, job(MAX_ELEMENTS + 1));
        plan.push(3, job(1));
        plan.end_pass();
        let runs = plan.runs();
        assert_eq!(runs.slots, [3, 1, 3]);
        assert_eq!(runs.firsts, [0, 3, 6, 7]);
    }
}
