//! Size gate of the fractional sumcheck.

use openvm_metal_common::DeviceKind;

/// Where the host takes over from the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GkrConfig {
    /// The host evaluates the rounds of a sumcheck whose tables have at most `2^log_host_rows`
    /// rows, and the whole sumcheck of a layer that starts with so few. `None`: a value measured
    /// for the kind of device. 0 runs on the device whatever can run there.
    pub log_host_rows: Option<u32>,
}

impl GkrConfig {
    /// Log of the largest table that the host evaluates.
    ///
    /// A round costs a GPU one dispatch and one wait (about 20 us), the host about 10 products of
    /// extension elements (10 ns each) for each row; the CPU device only the dispatch.
    pub fn log_host_rows(&self, kind: DeviceKind) -> u32 {
        self.log_host_rows.unwrap_or(match kind {
            DeviceKind::Cpu => 5,
            _ => 8,
        })
    }
}
