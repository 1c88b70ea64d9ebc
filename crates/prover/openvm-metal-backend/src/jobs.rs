//! Tables of jobs. The threadgroups of a dispatch are shared out to its jobs, in order; a job may have none.

use std::ops::Range;

use openvm_metal_common::{CommandStream, DeviceElem, Grid, MetalBuffer, MetalError, MetalSlice};

use crate::params::{
    ConstraintColumnJob, ConstraintEqJob, ConstraintEvalJob, ConstraintFoldJob, StackedColumnJob,
    StackedTableJob,
};

/// Threadgroups between two entries of the table of starts: `1 << JOB_LOG_STRETCH` of `metal/field/jobs.h`.
const STRETCH: usize = 1 << 4;

/// A job that knows its first threadgroup.
pub trait Job: DeviceElem + Default {
    fn set_first_group(&mut self, group: u32);
}

macro_rules! jobs {
    ($($job:ty),*) => {
        $(impl Job for $job {
            fn set_first_group(&mut self, group: u32) {
                self.first_group = group;
            }
        })*
    };
}
jobs!(
    ConstraintColumnJob,
    ConstraintEqJob,
    ConstraintEvalJob,
    ConstraintFoldJob,
    StackedColumnJob,
    StackedTableJob
);

/// Place of a dispatch's jobs in the tables of all dispatches.
#[derive(Clone, Debug)]
pub struct DispatchJobs {
    jobs: Range<usize>,
    starts: Range<usize>,
    /// Threadgroups of the dispatch.
    pub groups: u32,
}

impl DispatchJobs {
    /// The grid of threadgroups of `threads`.
    pub fn grid(&self, threads: u32) -> Grid {
        Grid::groups(self.groups, threads)
    }
}

/// The jobs of several dispatches. Behind those of each dispatch stands one that begins where its threadgroups end.
#[derive(Default)]
pub struct JobTable<J> {
    jobs: Vec<J>,
    /// For every [`STRETCH`]-th threadgroup of a dispatch its job, counted from the dispatch's first.
    starts: Vec<u32>,
}

impl<J: Job> JobTable<J> {
    /// Adds a dispatch: its jobs, each with the number of its threadgroups.
    ///
    /// # Panics
    /// If a dispatch has 2^32 threadgroups or more.
    pub fn dispatch(&mut self, jobs: impl IntoIterator<Item = (J, u32)>) -> DispatchJobs {
        let (first_job, first_start) = (self.jobs.len(), self.starts.len());
        let mut groups = 0u32;
        for (index, (mut job, count)) in (0u32..).zip(jobs) {
            job.set_first_group(groups);
            self.jobs.push(job);
            groups = groups
                .checked_add(count)
                .expect("fewer than 2^32 threadgroups");
            let known = self.starts.len() - first_start;
            let stretches = (groups as usize).div_ceil(STRETCH);
            self.starts
                .extend(std::iter::repeat_n(index, stretches - known));
        }
        let mut end = J::default();
        end.set_first_group(groups);
        self.jobs.push(end);
        DispatchJobs {
            jobs: first_job..self.jobs.len(),
            starts: first_start..self.starts.len(),
            groups,
        }
    }

    /// Uploads both tables.
    pub fn upload(&self, s: &CommandStream) -> Result<DeviceJobs<J>, MetalError> {
        Ok(DeviceJobs {
            jobs: MetalBuffer::from_host(s, &self.jobs)?,
            starts: MetalBuffer::from_host(s, &self.starts)?,
        })
    }
}

/// The tables on the device.
pub struct DeviceJobs<J: DeviceElem> {
    jobs: MetalBuffer<J>,
    starts: MetalBuffer<u32>,
}

impl<J: Job> DeviceJobs<J> {
    /// Jobs and starts of a dispatch.
    pub fn of(&self, dispatch: &DispatchJobs) -> (MetalSlice<'_, J>, MetalSlice<'_, u32>) {
        (
            self.jobs.slice(dispatch.jobs.clone()),
            self.starts.slice(dispatch.starts.clone()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Host form of `find_job` of `metal/field/jobs.h`.
    fn job_of(jobs: &[ConstraintFoldJob], starts: &[u32], group: u32) -> usize {
        let mut j = starts[group as usize / STRETCH] as usize;
        while jobs[j + 1].first_group <= group {
            j += 1;
        }
        j
    }

    /// Every threadgroup finds the job that it belongs to, also behind jobs without any.
    #[test]
    fn threadgroups_find_their_jobs() {
        let mut table = JobTable::<ConstraintFoldJob>::default();
        let dispatches: [&[u32]; 6] = [
            &[],
            &[0],
            &[1],
            &[0, 16, 0, 0, 17, 1],
            &[1; 100],
            &[3, 1000, 0, 1, 1, 1, 64, 0],
        ];
        for counts in dispatches {
            let jobs = counts
                .iter()
                .map(|&count| (ConstraintFoldJob::default(), count));
            let dispatch = table.dispatch(jobs);
            let jobs = &table.jobs[dispatch.jobs.clone()];
            let starts = &table.starts[dispatch.starts.clone()];
            assert_eq!(dispatch.groups, counts.iter().sum::<u32>());
            let owners: Vec<usize> = counts
                .iter()
                .enumerate()
                .flat_map(|(job, &count)| std::iter::repeat_n(job, count as usize))
                .collect();
            let known: Vec<u32> = owners
                .iter()
                .step_by(STRETCH)
                .map(|&job| job as u32)
                .collect();
            assert_eq!(starts, known, "{counts:?}");
            for (group, &job) in (0..).zip(&owners) {
                assert_eq!(job_of(jobs, starts, group), job, "{counts:?}, {group}");
            }
        }
    }

    #[test]
    fn the_stretch_is_that_of_the_kernels() {
        let header = include_str!("../metal/field/jobs.h");
        let constant = format!("JOB_LOG_STRETCH = {}u;", STRETCH.ilog2());
        assert!(header.contains(&constant), "{constant}");
    }
}
