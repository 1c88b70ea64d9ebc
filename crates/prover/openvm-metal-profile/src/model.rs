//! `TimeModel`: the time that a device takes to prove traces.

use crate::cost::Cost;

/// Time to prove segments: a constant for each segment, and a rate for padded cells.
///
/// The time is the device's for proofs of segments, as `openvm-metal prove app` reports it for all devices together: without
/// execution, traces on the host, and aggregation.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeModel {
    /// The device that was measured.
    pub device: String,
    /// Seconds for each segment, whatever its size.
    pub seconds_per_segment: f64,
    /// Nanoseconds for each padded cell of a main trace.
    pub nanoseconds_per_cell: f64,
}

impl TimeModel {
    /// An NVIDIA H100 80GB HBM3 with OpenVM's default parameters: within 15% of 14 proofs of 7 programs, of 1 to 377 segments
    /// (docs/notebook/programs.md).
    pub fn h100() -> Self {
        Self {
            device: "NVIDIA H100".into(),
            seconds_per_segment: 0.048,
            nanoseconds_per_cell: 0.2,
        }
    }

    /// Seconds of a proof.
    pub fn seconds(&self, segments: usize, padded_cells: u64) -> f64 {
        self.of_segments(segments) + self.of_cells(padded_cells)
    }

    /// Seconds of segments, whatever is in them.
    pub fn of_segments(&self, segments: usize) -> f64 {
        self.seconds_per_segment * segments as f64
    }

    /// Seconds that rows add, without their padding.
    pub fn of(&self, cost: Cost) -> f64 {
        self.of_cells(cost.cells)
    }

    fn of_cells(&self, cells: u64) -> f64 {
        self.nanoseconds_per_cell * 1e-9 * cells as f64
    }
}
