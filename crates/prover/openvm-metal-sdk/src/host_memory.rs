//! The host's memory that a job may take unless it is set.

use openvm_metal_common::free_memory;

/// Share of the free memory that records and traces may take unless it is set: the rest is for the guest's memory, nodes of the
/// aggregation and everything else.
const SHARE: (u64, u64) = (3, 4);

/// Bytes of records and traces that the host may hold unless it is set: three quarters of what is free now. No bound if the
/// system does not say what is free.
pub fn default_host_memory() -> u64 {
    free_memory().map_or(u64::MAX, |free| free / SHARE.1 * SHARE.0)
}
