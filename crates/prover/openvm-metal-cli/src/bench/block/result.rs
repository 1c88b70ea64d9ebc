//! Results of `bench block`, as JSON.

use std::time::Duration;

use openvm_metal_sdk::{DeviceReport, Report};
use serde::Serialize;

use crate::host::{HostReport, COMMIT};

/// One measured proof of an execution.
pub struct Run {
    /// Time from the input to the accepted proof.
    pub wall: Duration,
    /// Energy of all GPUs meanwhile, if they tell.
    pub joules: Option<f64>,
    /// Most bytes of this process's memory so far, if the system tells.
    pub host_memory_peak: Option<u64>,
    pub report: Report,
}

/// Results of one command. Times in seconds.
#[derive(Clone, Debug, Serialize)]
pub struct BlockResults {
    /// Name of the benchmark: `block`.
    pub benchmark: &'static str,
    /// Name of the program.
    pub program: String,
    /// The devices that were opened, each by its kind and name; separated by commas.
    pub device: String,
    pub version: &'static str,
    pub commit: &'static str,
    /// Threads of the host.
    pub threads: usize,
    /// Proofs of each case that were made first and do not count.
    pub warmup: usize,
    /// Bits of security of the proofs.
    pub security_bits: f64,
    /// Results of the inputs, in the order of the command line.
    pub cases: Vec<CaseResult>,
}

/// Results of one input: those of the run of median time. Its proof was accepted by OpenVM's verifier.
#[derive(Clone, Debug, Serialize)]
pub struct CaseResult {
    /// Name of the input's file.
    pub name: String,
    pub instructions: u64,
    /// Cells of the main traces of all segments, padded, as metering bounds them.
    pub cells: u64,
    pub segments: usize,
    /// Nodes of the aggregation.
    pub nodes: usize,
    pub wall_seconds: f64,
    /// Times of all measured runs, in their order.
    pub runs_seconds: Vec<f64>,
    pub million_instructions_per_second: f64,
    pub stages: StageTimes,
    /// Energy of all GPUs during the run; absent if one of them does not tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joules: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joules_per_million_instructions: Option<f64>,
    /// Most bytes that were live at once in the memory of one device, from the start of the process to the end of the run.
    pub device_memory_peak: Option<u64>,
    /// Most bytes of this process's memory, from its start to the end of the run.
    pub host_memory_peak: Option<u64>,
    pub proof_bytes: u64,
    /// Reports of the devices; `idle` is a share of the run's time, from 0 to 1.
    pub devices: Vec<DeviceReport>,
}

/// Seconds of work, of all threads: they overlap, and add up to more than the run's time.
#[derive(Clone, Debug, Serialize)]
pub struct StageTimes {
    /// Metered execution.
    pub execution: f64,
    /// Executing segments again, with records.
    pub preflight: f64,
    /// Making traces.
    pub traces: f64,
    /// Bringing traces to the devices.
    pub upload: f64,
    /// Proofs of segments.
    pub prove: f64,
    /// Nodes of the aggregation: their traces and their proofs.
    pub aggregation: f64,
}

impl BlockResults {
    /// Results without a case.
    pub fn new(program: String, warmup: usize) -> Self {
        let host = HostReport::gather();
        Self {
            benchmark: "block",
            program,
            device: String::new(),
            version: host.version,
            commit: COMMIT,
            threads: host.threads,
            warmup,
            security_bits: 0.0,
            cases: Vec::new(),
        }
    }

    /// Adds an input by its runs. One without a run has no results.
    pub fn add(&mut self, name: String, runs: &[Run]) {
        let Some(run) = median(runs) else {
            return;
        };
        self.device = run.report.device.clone().unwrap_or_default();
        self.security_bits = run.report.security_bits;
        let runs_seconds = runs.iter().map(|run| run.wall.as_secs_f64()).collect();
        self.cases.push(CaseResult::new(name, run, runs_seconds));
    }
}

impl CaseResult {
    fn new(name: String, run: &Run, runs_seconds: Vec<f64>) -> Self {
        let report = &run.report;
        let wall_seconds = run.wall.as_secs_f64();
        let millions = report.instructions as f64 / 1e6;
        Self {
            name,
            instructions: report.instructions,
            cells: report.cells,
            segments: report.segments,
            nodes: report.devices.iter().map(|device| device.nodes).sum(),
            wall_seconds,
            runs_seconds,
            million_instructions_per_second: millions / wall_seconds.max(1e-9),
            stages: StageTimes::new(report),
            joules: run.joules,
            // JSON has no number for a share of no instructions.
            joules_per_million_instructions: run
                .joules
                .filter(|_| report.instructions > 0)
                .map(|joules| joules / millions),
            device_memory_peak: report.device_memory_peak,
            host_memory_peak: run.host_memory_peak,
            proof_bytes: report.proof_bytes,
            devices: report.devices.clone(),
        }
    }
}

impl StageTimes {
    fn new(report: &Report) -> Self {
        Self {
            execution: report.execution.as_secs_f64(),
            preflight: report.preflight.as_secs_f64(),
            traces: report.traces.as_secs_f64(),
            upload: report.upload.as_secs_f64(),
            prove: report.prove.as_secs_f64(),
            aggregation: report.aggregate.as_secs_f64(),
        }
    }
}

/// The run of median time; of an even number of runs the longer of the two in the middle. All figures are of one run, so that they belong
/// together.
fn median(runs: &[Run]) -> Option<&Run> {
    let mut sorted: Vec<&Run> = runs.iter().collect();
    sorted.sort_by_key(|run| run.wall);
    sorted.get(sorted.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(name: &str, nodes: usize) -> DeviceReport {
        let mut device = DeviceReport::default();
        device.name = name.to_owned();
        device.nodes = nodes;
        device.idle = 0.25;
        device
    }

    fn run(seconds: u64, joules: Option<f64>) -> Run {
        let mut report = Report::default();
        report.instructions = 4_000_000;
        report.cells = 70;
        report.segments = 2;
        report.execution = Duration::from_millis(500);
        report.aggregate = Duration::from_millis(1500);
        report.device = Some("cuda (a GPU), cuda (a GPU)".to_owned());
        report.devices = vec![device("cuda", 2), device("cuda:1", 1)];
        report.device_memory_peak = Some(1 << 30);
        report.proof_bytes = 300;
        report.security_bits = 100.0;
        Run {
            wall: Duration::from_secs(seconds),
            joules,
            host_memory_peak: Some(5),
            report,
        }
    }

    #[test]
    fn median_is_one_of_the_runs() {
        let of = |seconds: &[u64]| {
            let runs: Vec<Run> = seconds.iter().map(|&seconds| run(seconds, None)).collect();
            median(&runs).map(|run| run.wall.as_secs())
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[7]), Some(7));
        assert_eq!(of(&[9, 1, 4]), Some(4));
        assert_eq!(of(&[2, 8]), Some(8));
        assert_eq!(of(&[8, 2, 5, 3]), Some(5));
    }

    /// Catches names that scripts do not know any more, figures of different runs in one case, and energy that nobody measured.
    #[test]
    fn json_has_the_figures_of_the_median_run() {
        let mut results = BlockResults::new("ethereum".to_owned(), 1);
        let runs = [
            run(9, Some(900.0)),
            run(2, Some(200.0)),
            run(1, Some(100.0)),
        ];
        results.add("a.bin".to_owned(), &runs);
        results.add("b.bin".to_owned(), &[run(4, None)]);
        results.add("c.bin".to_owned(), &[]);
        let json = serde_json::to_value(&results).expect("JSON");
        assert_eq!(json["benchmark"], "block");
        assert_eq!(json["program"], "ethereum");
        assert_eq!(json["device"], "cuda (a GPU), cuda (a GPU)");
        assert_eq!(json["warmup"], 1);
        assert_eq!(json["security_bits"], 100.0);
        assert!(json["threads"].as_u64() > Some(0));
        for name in ["version", "commit"] {
            assert!(json[name].is_string(), "{name}");
        }
        assert_eq!(json["cases"].as_array().map(Vec::len), Some(2));

        let case = &json["cases"][0];
        let numbers = [
            ("instructions", 4_000_000.0),
            ("cells", 70.0),
            ("segments", 2.0),
            ("nodes", 3.0),
            ("wall_seconds", 2.0),
            ("million_instructions_per_second", 2.0),
            ("joules", 200.0),
            ("joules_per_million_instructions", 50.0),
            ("device_memory_peak", f64::from(1u32 << 30)),
            ("host_memory_peak", 5.0),
            ("proof_bytes", 300.0),
        ];
        for (name, value) in numbers {
            assert_eq!(case[name].as_f64(), Some(value), "{name}");
        }
        assert_eq!(case["name"], "a.bin");
        assert_eq!(case["runs_seconds"], serde_json::json!([9.0, 2.0, 1.0]));
        let stages = case["stages"].as_object().expect("an object");
        assert_eq!(stages["execution"], 0.5);
        assert_eq!(stages["aggregation"], 1.5);
        for name in ["preflight", "traces", "upload", "prove"] {
            assert_eq!(stages[name], 0.0, "{name}");
        }
        let devices = case["devices"].as_array().expect("a list");
        let names: Vec<&str> = devices
            .iter()
            .filter_map(|device| device["name"].as_str())
            .collect();
        assert_eq!(names, ["cuda", "cuda:1"]);
        assert_eq!(devices[1]["idle"], 0.25);

        let other = json["cases"][1].as_object().expect("an object");
        assert!(!other.contains_key("joules"));
        assert!(!other.contains_key("joules_per_million_instructions"));
    }
}
