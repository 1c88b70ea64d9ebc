//! Statistics of an executor.

/// Counters of an executor since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Operations handed to the backend without a program.
    pub operations: u64,
    /// Programs handed to the backend.
    pub programs: u64,
    /// Expressions that were computed in one pass over memory, and sorts.
    pub expressions: u64,
    /// Operations on the device's arrays that callers computed on the host.
    pub host_operations: u64,
    /// Times the host waited for submitted work.
    pub waits: u64,
    /// Buffers made.
    pub allocations: u64,
    /// Buffers freed.
    pub frees: u64,
    /// Buffers there are.
    pub live_buffers: u64,
    /// Their bytes.
    pub live_bytes: u64,
    /// Most bytes there were.
    pub peak_bytes: u64,
    /// Bytes written by the host.
    pub bytes_to_device: u64,
    /// Bytes read by the host.
    pub bytes_from_device: u64,
    /// Bytes copied between buffers.
    pub bytes_on_device: u64,
}

impl Stats {
    /// Name and value of each counter.
    pub const fn entries(&self) -> [(&'static str, u64); 13] {
        [
            ("operations", self.operations),
            ("programs", self.programs),
            ("expressions", self.expressions),
            ("host_operations", self.host_operations),
            ("waits", self.waits),
            ("allocations", self.allocations),
            ("frees", self.frees),
            ("live_buffers", self.live_buffers),
            ("live_bytes", self.live_bytes),
            ("peak_bytes", self.peak_bytes),
            ("bytes_to_device", self.bytes_to_device),
            ("bytes_from_device", self.bytes_from_device),
            ("bytes_on_device", self.bytes_on_device),
        ]
    }

    pub(crate) fn allocated(&mut self, bytes: usize) {
        self.allocations += 1;
        self.live_buffers += 1;
        self.live_bytes += bytes as u64;
        self.peak_bytes = self.peak_bytes.max(self.live_bytes);
    }

    pub(crate) fn freed(&mut self, bytes: usize) {
        self.frees += 1;
        self.live_buffers -= 1;
        self.live_bytes -= bytes as u64;
    }
}
