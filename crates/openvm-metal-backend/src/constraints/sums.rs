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
/// sums are finished on the host. Eight for each thread: more would leave most of a GPU idle.
const MAX_ELEMENTS: u32 = 1 << 10;
const MIN_LENGTH: u32 = 1 << 5;
const THREADS: u32 = 128;

/// Elements of one section that a threadgroup sums at most, a power of two.
fn most_at_once(sections: u32) -> u32 {
    (MAX_ELEMENTS / sections.max(1).next_power_of_two()).max(MIN_LENGTH)
}

/// Where the eq tables of all hypercube sizes lie: for each `n`, in natural order over all `n` coordinates, and
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
    /// `xi`: the coordinates after the skip variables. One dispatch.
    pub fn new(s: &CommandStream, layout: &EqLayout, xi: &[EF]) -> Result<Self, MetalError> {
        let xi = MetalBuffer::from_host(s, xi)?;
        let point = DevicePoint {
            elements: xi.slice(..),
            stride: 1,
        };
        Self::at(s, layout, point)
    }

    /// The same at a point on the device, which has a coordinate for each variable of the largest size.
    pub fn at(
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

/// Uploaded sums.
pub struct Sums {
    jobs: MetalBuffer<ConstraintSumJob>,
    sums: MetalBuffer<EF>,
    /// Of each job.
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

    /// Where the sums of each of the `slots` slots of a pass begin, and where the last one ends, from the first of the pass on.
    /// Slots from 0 were filled one after the other.
    pub fn firsts(&self, pass: usize, slots: usize) -> Vec<u32> {
        let of_pass = &self.slots[self.range(pass)];
        debug_assert!(of_pass.is_sorted_by(|a, b| (*a..=*a + 1).contains(b)));
        debug_assert_eq!(of_pass.last().map_or(0, |&last| last + 1), slots);
        let first = |slot| of_pass.partition_point(|&of| of < slot) as u32;
        (0..=slots).map(first).collect()
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
}
