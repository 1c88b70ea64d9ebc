//! Into how many sections rules are cut.

use openvm_metal_common::{DeviceProfile, Execution};

use super::text::MAX_THREADS;

/// Threads that read one section's operands together: some vectors on CPUs, a threadgroup on GPUs, whose SIMD-groups share
/// the instructions that they fetch.
const LOG_GROUP: [u32; 2] = [6, MAX_THREADS.ilog2()];
/// Log2 of the most threads that run as one vector or stay together.
pub const LOG_VECTOR: u32 = 5;
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
pub fn log_group(profile: &DeviceProfile, log_threads: u32) -> u32 {
    match profile.execution {
        Execution::MultiCore => LOG_GROUP[0].min(log_threads),
        Execution::ManyCore => LOG_GROUP[1].min(log_threads).max(LOG_VECTOR),
    }
}

/// Threads of a section in all `jobs`, of which each has `2^log_threads`.
pub fn threads(profile: &DeviceProfile, log_threads: u32, jobs: u64) -> u64 {
    jobs << log_threads.max(log_group(profile, log_threads))
}

/// Memory of the sections of a program's kernels, for the plan of a proof's memory: uses and points of a thread
/// for each kernel.
#[derive(Clone, Debug, Default)]
pub struct PlannedSections(pub(super) Vec<(u64, u32)>);

impl PlannedSections {
    /// Sections of kernels with these uses and points of a thread.
    #[cfg(test)]
    pub fn of(kernels: &[(u64, u32)]) -> Self {
        Self(kernels.to_vec())
    }

    /// Most sections at `points` points of each of `jobs` evaluations.
    pub fn most(&self, profile: &DeviceProfile, points: u64, jobs: u64) -> u64 {
        let of = |&(uses, of_thread): &(u64, u32)| {
            let log_threads = (points / u64::from(of_thread)).max(1).ilog2();
            let threads = threads(profile, log_threads, jobs);
            uses.min(sections(profile, threads) as u64)
        };
        self.0.iter().map(of).sum()
    }
}
