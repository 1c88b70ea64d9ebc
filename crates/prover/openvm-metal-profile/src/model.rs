//! `TimeModel`: the time that a device takes to prove traces.

use serde::Deserialize;

use crate::{cost::Cost, ProfileError};

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

/// A proof that was measured.
struct Measured {
    device: String,
    segments: f64,
    cells: f64,
    seconds: f64,
}

/// Parts of the report of `openvm-metal prove app --json` that a rate follows from.
#[derive(Deserialize)]
struct Report {
    kind: String,
    device: Option<String>,
    segments: u64,
    resumed: u64,
    cells: u64,
    devices: Vec<Device>,
}

#[derive(Deserialize)]
struct Device {
    /// Seconds.
    busy: f64,
}

impl Measured {
    fn from_report(json: &str) -> Result<Self, ProfileError> {
        let bad = |reason: String| ProfileError::Measurement(reason);
        let report: Report = serde_json::from_str(json).map_err(|error| {
            bad(format!(
                "it is not the report of `openvm-metal prove app --json`: {error}"
            ))
        })?;
        if report.kind != "app" {
            return Err(bad(format!(
                "it is the report of `prove {}`, whose devices aggregated, too; take one of `prove app`",
                report.kind
            )));
        }
        if report.resumed > 0 {
            return Err(bad(
                "segments of its job were proved before (--resume)".into()
            ));
        }
        let seconds: f64 = report.devices.iter().map(|device| device.busy).sum();
        if report.cells == 0 || report.segments == 0 || seconds <= 0.0 {
            return Err(bad("it has no cells, segments or time".into()));
        }
        Ok(Self {
            device: report
                .device
                .unwrap_or_else(|| "the measured device".into()),
            segments: report.segments as f64,
            cells: report.cells as f64,
            seconds,
        })
    }
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

    /// The model of proofs that were measured: reports of `openvm-metal prove app --json`. From one, the model of an H100 is scaled
    /// so that it predicts the proof. From several, of programs that differ in the cells of a segment, both numbers are fitted.
    ///
    /// # Errors
    /// [`ProfileError::Measurement`] for another file, a report of aggregation, of a job that was resumed, or of different devices.
    pub fn from_reports<S: AsRef<str>>(reports: &[S]) -> Result<Self, ProfileError> {
        let proofs = reports
            .iter()
            .map(|json| Measured::from_report(json.as_ref()));
        let proofs = proofs.collect::<Result<Vec<_>, _>>()?;
        let Some(first) = proofs.first() else {
            return Err(ProfileError::Measurement("there is none".into()));
        };
        if let Some(other) = proofs.iter().find(|proof| proof.device != first.device) {
            return Err(ProfileError::Measurement(format!(
                "one is of {}, another of {}",
                first.device, other.device
            )));
        }
        let (segment, cell) = match fit(&proofs) {
            Some(fitted) => fitted,
            None => {
                let h100 = Self::h100();
                let (segment, cell) = (h100.seconds_per_segment, h100.nanoseconds_per_cell * 1e-9);
                let predicted = |proof: &Measured| segment * proof.segments + cell * proof.cells;
                let ratios = proofs.iter().map(|proof| proof.seconds / predicted(proof));
                let scale = ratios.sum::<f64>() / proofs.len() as f64;
                (segment * scale, cell * scale)
            }
        };
        Ok(Self {
            device: first.device.clone(),
            seconds_per_segment: segment,
            nanoseconds_per_cell: cell * 1e9,
        })
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

/// Seconds for a segment and for a cell with the least squares of relative errors; `None` if they do not follow from the proofs.
fn fit(proofs: &[Measured]) -> Option<(f64, f64)> {
    let (mut ss, mut sc, mut cc, mut s, mut c) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for proof in proofs {
        let (x, y) = (proof.segments / proof.seconds, proof.cells / proof.seconds);
        ss += x * x;
        sc += x * y;
        cc += y * y;
        s += x;
        c += y;
    }
    let determinant = ss * cc - sc * sc;
    if determinant <= 1e-6 * ss * cc {
        return None;
    }
    let (segment, cell) = (
        (s * cc - c * sc) / determinant,
        (c * ss - s * sc) / determinant,
    );
    (segment >= 0.0 && cell > 0.0).then_some((segment, cell))
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"{"kind": "app", "device": "cpu", "segments": 2, "resumed": 0, "cells": 1000000000,
        "devices": [{"busy": 1.5}, {"busy": 0.5}]}"#;

    /// A model that leaves out a device, or does not take its constants from the measurement.
    #[test]
    fn measurements_predict_themselves() {
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9 * b, "{a} {b}");
        let model = TimeModel::from_reports(&[REPORT]).expect("a report");
        near(model.seconds(2, 1_000_000_000), 2.0);
        assert_eq!(model.device, "cpu");
        // The same again says no more; another one with fewer cells in a segment does: 0.5 s and 1 ns.
        let same = TimeModel::from_reports(&[REPORT, REPORT]).expect("reports");
        near(same.seconds(2, 1_000_000_000), 2.0);
        let other = REPORT
            .replace("1000000000", "500000000")
            .replace("1.5", "1.0");
        let both = TimeModel::from_reports(&[REPORT.to_owned(), other]).expect("reports");
        near(both.seconds_per_segment, 0.5);
        near(both.nanoseconds_per_cell, 1.0);
    }

    #[test]
    fn other_reports_are_refused() {
        for (from, to, reason) in [
            ("\"app\"", "\"stark\"", "prove app"),
            ("\"resumed\": 0", "\"resumed\": 1", "proved before"),
            ("1000000000", "0", "no cells"),
            ("\"segments\"", "\"parts\"", "not the report"),
        ] {
            let text = REPORT.replacen(from, to, 1);
            let error = TimeModel::from_reports(&[text]).expect_err(to).to_string();
            assert!(error.contains(reason), "{error}");
        }
        let other = REPORT.replace("\"cpu\"", "\"cuda\"");
        let error = TimeModel::from_reports(&[REPORT.to_owned(), other]).expect_err("devices");
        assert!(error.to_string().contains("another of cuda"), "{error}");
    }
}
