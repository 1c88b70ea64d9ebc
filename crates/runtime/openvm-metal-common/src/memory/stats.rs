//! Statistics of a pool.

use serde::Serialize;

/// Memory of a context at one moment, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct MemoryStats {
    /// Held by live buffers (rounded to size classes).
    pub live: u64,
    /// Most that was ever live.
    pub peak: u64,
    /// Largest buffer that was ever live.
    pub largest: u64,
    /// Taken from the device, free or live.
    pub reserved: u64,
    /// Most that was ever reserved.
    pub peak_reserved: u64,
    /// Most that may be live.
    pub budget: u64,
    /// Buffers allocated so far.
    pub allocations: u64,
    /// Segments taken from the device so far: the others were served by reuse.
    pub device_allocations: u64,
}

/// Follows the peak of live bytes while it is registered with a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeakTracker {
    pub id: u64,
    pub peak: u64,
}
