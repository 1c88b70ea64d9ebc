//! Into how many sections rules are cut.

use openvm_metal_common::{DeviceProfile, Execution};

/// Threads that read one section's rows together: some vectors on CPUs, a SIMD-group on GPUs.
const LOG_UNIT: [u32; 2] = [6, 5];
/// Most sections of a program.
const MAX_SECTIONS: usize = 512;

/// Sections that keep the device busy if each has so many threads: several for each thread that it can hold, so that
/// all end at about the same time and neighbouring threadgroups read the same columns.
pub fn sections(profile: &DeviceProfile, threads: u64) -> usize {
    let wanted = match profile.execution {
        Execution::MultiCore => 1 << 8,
        Execution::ManyCore => 2 * profile.threads_in_flight(),
    };
    (wanted.div_ceil(threads.max(1)) as usize).clamp(1, MAX_SECTIONS)
}

/// Log2 of the threads that stay together, of `2^log_threads` in a section of a job.
pub fn log_unit(profile: &DeviceProfile, log_threads: u32) -> u32 {
    match profile.execution {
        Execution::MultiCore => LOG_UNIT[0].min(log_threads),
        Execution::ManyCore => LOG_UNIT[1],
    }
}

/// Threads of a section in all `jobs`, of which each has `2^log_threads`.
pub fn threads(profile: &DeviceProfile, log_threads: u32, jobs: u64) -> u64 {
    jobs << log_threads.max(log_unit(profile, log_threads))
}

/// What the sections of a program's kernels take, as the plan of a proof's memory needs it: rows and points of a thread
/// for each part.
#[derive(Clone, Debug, Default)]
pub struct PlannedSections(pub(super) Vec<(u64, u32)>);

impl PlannedSections {
    /// Most sections at `points` points of each of `jobs` evaluations.
    pub fn most(&self, profile: &DeviceProfile, points: u64, jobs: u64) -> u64 {
        let of = |&(rows, of_thread): &(u64, u32)| {
            let log_threads = (points / u64::from(of_thread)).max(1).ilog2();
            let threads = threads(profile, log_threads, jobs);
            rows.min(sections(profile, threads) as u64)
        };
        self.0.iter().map(of).sum()
    }
}
