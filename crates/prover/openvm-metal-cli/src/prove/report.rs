//! Time and memory of a proof, as a table or JSON.

use std::{path::PathBuf, time::Duration};

use openvm_metal_sdk::{Report, MIN_SECURITY_BITS};
use serde::Serialize;

use super::progress::speed;
use crate::{
    error::Result,
    table::{self, Unit},
    trust,
};

/// Name and time of work within a stage.
type Work = (&'static str, Duration);

/// A proof that was accepted by OpenVM's verifier.
#[derive(Serialize)]
pub struct ProofReport {
    pub kind: &'static str,
    pub program: String,
    pub public_values: String,
    pub proof: PathBuf,
    pub vk: PathBuf,
    /// Bytes of the proof's file.
    pub proof_file_bytes: u64,
    /// The commitments to the program and its virtual machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<PathBuf>,
    /// The same for OpenVM's verifier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub baseline: Option<PathBuf>,
    /// Most bytes of this process's memory, if the system tells.
    pub host_memory_peak: Option<u64>,
    #[serde(flatten)]
    pub report: Report,
}

impl ProofReport {
    /// The options with which `verify` takes the key of this proof: its user made it.
    fn trust(&self) -> &'static str {
        trust::of_own_key(self.report.security_bits)
    }

    /// Prints it.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub fn print(&self, json: bool) -> Result<()> {
        if json {
            return table::json(self);
        }
        let report = &self.report;
        let unit = Unit::of_times([report.total]);
        let header = [
            "stage".into(),
            unit.header("time"),
            unit.header("work in it"),
        ];
        let mut rows = table::table(&header, &[1, 2]);
        // Stages follow one another; the work in them overlaps.
        let stages: [(&str, Duration, &[Work]); 6] = [
            ("keys", report.keys, &[]),
            ("program", report.program, &[]),
            (
                "segments",
                report.app,
                &[
                    ("execution", report.execution),
                    ("to segments", report.skipped),
                    ("memory image", report.memory_image),
                    ("preflight", report.preflight),
                    ("traces", report.traces),
                    ("upload", report.upload),
                    ("prove", report.prove),
                ],
            ),
            ("aggregation", report.tree, &[("nodes", report.aggregate)]),
            ("verification", report.verify, &[]),
            ("total", report.total, &[]),
        ];
        for (name, time, work) in stages {
            if name == "aggregation" && self.kind == "app" {
                continue;
            }
            rows.add_row([name.to_owned(), unit.time(time), String::new()]);
            // Zero unless segments are reached by a second execution.
            let is_shown = |(name, time): &&Work| *name != "to segments" || !time.is_zero();
            for (name, time) in work.iter().filter(is_shown) {
                rows.add_row([format!("  {name}"), String::new(), unit.time(*time)]);
            }
        }
        table::line(rows)?;
        let busy = unit.header("proving");
        let header = ["device", "segments", "nodes", &busy, "idle"];
        let mut rows = table::table(&header, &[1, 2, 3, 4]);
        for device in &report.devices {
            rows.add_row([
                device.name.clone(),
                device.segments.to_string(),
                device.nodes.to_string(),
                unit.time(device.busy),
                format!("{:.0}%", 100.0 * device.idle),
            ]);
        }
        table::line(rows)?;
        table::line(format!(
            "{} instructions in {} {}{}, {} overall",
            table::count(report.instructions),
            report.segments,
            table::plural(report.segments as u64, "segment"),
            match report.resumed {
                0 => String::new(),
                n => format!(" ({n} proved before)"),
            },
            speed(report.instructions, report.total)
        ))?;
        let peak = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".into(), table::bytes);
        table::line(format!(
            "uploaded {}; peaks: records and traces {}, device memory {}, this process {}",
            table::bytes(report.uploaded),
            table::bytes(report.host_traces_peak),
            peak(report.device_memory_peak),
            peak(self.host_memory_peak)
        ))?;
        if !report.rows_on_host.is_empty() {
            table::line(format!(
                "the host made {} rows of {} {} without kernels (--json names them)",
                table::count(report.rows_on_host.values().sum()),
                report.rows_on_host.len(),
                table::plural(report.rows_on_host.len() as u64, "chip")
            ))?;
        }
        table::line(format!("public values {}", self.public_values))?;
        let bits = report.security_bits;
        table::line(match bits < MIN_SECURITY_BITS {
            true => format!("security {bits:.1} bits: WITHOUT SECURITY, such proofs can be forged"),
            false => format!("security {bits:.1} bits"),
        })?;
        if let (Some(commit), Some(baseline)) = (&self.commit, &self.baseline) {
            table::line(format!(
                "{}: commitments\n{}: baseline",
                commit.display(),
                baseline.display()
            ))?;
        }
        table::line(format!(
            "{}: {} on {}, accepted by OpenVM's verifier\n{}: its verifying key\n\
             next: openvm-metal verify {} {} --vk {}{}",
            self.proof.display(),
            table::bytes(self.proof_file_bytes),
            report.device.as_deref().unwrap_or("an unnamed device"),
            self.vk.display(),
            self.kind,
            self.proof.display(),
            self.vk.display(),
            self.trust()
        ))
    }
}
