//! The profile of the processor at hand.

use super::host;
use crate::device_profile::{DeviceProfile, Execution};
use crate::free_memory::free_memory;

/// Products of 31-bit words that a lane makes a second: 2.5 G on the 16 lanes of a 2.5 GHz Xeon.
const PRODUCTS_PER_LANE: u64 = 156_000_000;
/// Bytes that a thread moves a second: 19 GB/s on two threads of that Xeon, 92 GB/s on 16.
const BYTES_PER_THREAD: u64 = 6_000_000_000;
/// Part of the last-level cache that a batch of columns may take.
const CACHE: u64 = 8 << 20;

/// The budget of a processor: three quarters of the memory that is free when it is opened, for other programs run too. It is at least
/// a quarter of the working set: memory that others use for a moment should not make a proof impossible.
fn budget(working_set: u64, free: Option<u64>) -> u64 {
    free.map_or(working_set, |free| {
        (free / 4 * 3).clamp(working_set / 4, working_set)
    })
}

/// The processor's own profile, with simdgroups of 32 in conformance mode.
pub(crate) fn of(conformance: bool) -> DeviceProfile {
    let memory = host::memory_bytes();
    let working_set = memory / 4 * 3;
    let (threads, lanes) = (
        rayon::current_num_threads() as u32,
        host::best_isa().lanes(),
    );
    DeviceProfile {
        name: "cpu",
        execution: Execution::MultiCore,
        cores: threads,
        threads_per_core: lanes,
        simd_width: if conformance { 32 } else { lanes },
        max_threads_per_threadgroup: 1024,
        max_threadgroup_memory: 32 << 10,
        memory,
        working_set,
        budget: budget(working_set, free_memory()),
        max_buffer: memory,
        unified: true,
        addresses: true,
        double_precision: true,
        subnormals: true,
        close_functions: true,
        cache: CACHE,
        matrix_units: conformance,
        vectors: true,
        products_per_second: u64::from(threads * lanes) * PRODUCTS_PER_LANE,
        bytes_per_second: u64::from(threads) * BYTES_PER_THREAD,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches a budget of all memory while another program uses half of it.
    #[test]
    fn the_budget_follows_free_memory() {
        let working_set = 12 << 30;
        assert_eq!(budget(working_set, None), working_set);
        assert_eq!(budget(working_set, Some(16 << 30)), working_set);
        assert_eq!(budget(working_set, Some(8 << 30)), 6 << 30);
        assert_eq!(budget(working_set, Some(0)), 3 << 30);
        let own = of(false);
        assert!((own.working_set / 4..=own.working_set).contains(&own.budget));
    }
}
