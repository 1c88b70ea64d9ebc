//! Size gate of the fractional sumcheck.

/// Where the host takes over from the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GkrConfig {
    /// The host evaluates the rounds of a sumcheck whose tables have at most `2^log_host_rows`
    /// rows, and the whole sumcheck of a layer that starts with so few. 0 runs on the device
    /// whatever can run there.
    ///
    /// One round on the device is one dispatch and one wait (about 20 us on a GPU); on the host the
    /// rounds from `n` rows on cost about `10 n` products of extension elements (10 ns each).
    pub log_host_rows: usize,
}

impl Default for GkrConfig {
    fn default() -> Self {
        Self { log_host_rows: 8 }
    }
}
