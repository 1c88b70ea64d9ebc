//! Results of a benchmark of proofs, as JSON.

use std::collections::BTreeMap;

use openvm_metal_common::{ProfileTable, StageCounters, StreamCounters};
use serde::Serialize;

use super::spans::SpanTimes;

/// Results of one command.
#[derive(Clone, Debug, Serialize)]
pub struct ProofResults {
    /// Name of the benchmark: `keccakf`, `interactions` or `reth`.
    pub benchmark: String,
    pub engine: String,
    /// Name of the device, or the processor's.
    pub device: String,
    pub version: String,
    pub commit: String,
    /// Threads of the host.
    pub threads: usize,
    /// log2 of the stacked height.
    pub log_stacked: u8,
    /// Proofs of each case that were made first and do not count.
    pub warmup: usize,
    pub cases: Vec<CaseResult>,
    /// Device time by stage and kernel of all proofs, warm-ups too, under `OPENVM_METAL_PROFILE=1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileTable>,
}

/// Results of one case. Every proof was accepted by the verifier.
#[derive(Clone, Debug, Serialize)]
pub struct CaseResult {
    pub name: String,
    /// Cells of all traces.
    pub cells: u64,
    pub proof_bytes: usize,
    /// Time of each proof, in milliseconds, without transport to the device.
    pub times_ms: Vec<f64>,
    /// Medians over the proofs, by the engine's names.
    pub spans_ms: BTreeMap<String, f64>,
    /// Counts of the last proof, of our engine only.
    pub counts: Option<Counts>,
}

/// Requests of one proof to the device.
#[derive(Clone, Debug, Serialize)]
pub struct Counts {
    pub dispatches: u64,
    pub waits: u64,
    pub bytes_to_device: u64,
    pub bytes_to_host: u64,
    pub peak_bytes: u64,
    pub wait_ms: f64,
    /// In the order in which they were entered.
    pub stages: Vec<StageResult>,
}

/// One stage of a proof, nested ones included.
#[derive(Clone, Debug, Serialize)]
pub struct StageResult {
    /// Names joined by `/`.
    pub path: String,
    pub ms: f64,
    pub wait_ms: f64,
    pub dispatches: u64,
    pub waits: u64,
    pub peak_bytes: u64,
}

impl Counts {
    pub fn new(counters: &StreamCounters) -> Self {
        let total = counters.total();
        let stages = counters
            .stages
            .iter()
            .filter(|stage| !stage.stage.is_empty());
        Self {
            dispatches: total.dispatches,
            waits: total.waits,
            bytes_to_device: total.bytes_h2d,
            bytes_to_host: total.bytes_d2h,
            peak_bytes: total.peak_bytes,
            wait_ms: total.wait_ns as f64 / 1e6,
            stages: stages
                .map(|stage| StageResult::new(&counters.inclusive(&stage.stage)))
                .collect(),
        }
    }
}

impl StageResult {
    fn new(stage: &StageCounters) -> Self {
        Self {
            path: stage.stage.to_string(),
            ms: stage.wall_ns as f64 / 1e6,
            wait_ms: stage.wait_ns as f64 / 1e6,
            dispatches: stage.dispatches,
            waits: stage.waits,
            peak_bytes: stage.peak_bytes,
        }
    }
}

/// The median; 0 of nothing.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

impl CaseResult {
    pub fn median_ms(&self) -> f64 {
        median(&self.times_ms)
    }

    /// Half of the distance between the longest and the shortest time.
    pub fn spread_ms(&self) -> f64 {
        let longest = self.times_ms.iter().copied().fold(0.0, f64::max);
        let shortest = self.times_ms.iter().copied().fold(longest, f64::min);
        (longest - shortest) / 2.0
    }
}

/// Medians by path of several proofs' spans.
pub fn span_medians(runs: &[SpanTimes]) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (path, ms) in runs.iter().flatten() {
        all.entry(path).or_default().push(*ms);
    }
    all.into_iter()
        .map(|(path, times)| (path.to_owned(), median(&times)))
        .collect()
}

impl ProofResults {
    /// Sum of the medians of all cases.
    pub fn total_ms(&self) -> f64 {
        self.cases.iter().map(CaseResult::median_ms).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        let run = |ms| SpanTimes::from([("a/b".to_owned(), ms)]);
        let medians = span_medians(&[run(1.0), run(5.0), run(2.0)]);
        assert_eq!(medians, BTreeMap::from([("a/b".to_owned(), 2.0)]));
    }
}
