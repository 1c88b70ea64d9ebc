//! Times of a run of proofs, as a table or JSON.

use std::{collections::BTreeMap, time::Duration};

use openvm_metal_backend::KernelReport;
use openvm_metal_common::{HostWork, ProfileTable, StreamCounters};
use openvm_metal_sdk::{key_hash, security_bits};
use openvm_stark_backend::{codec::Encode, keygen::types::MultiStarkVerifyingKey};
use serde::Serialize;

use super::{CircuitArgs, Run, SC};
use crate::{
    error::{CliError, Result},
    table::{self, Unit},
};

/// A run of proofs. Times in seconds.
#[derive(Serialize)]
pub(super) struct Report {
    circuit: String,
    engine: String,
    device: String,
    permutations: usize,
    log_stacked: u8,
    proof_bytes: usize,
    /// The hash of the verifying key.
    vk_hash: String,
    security_bits: f64,
    valid: bool,
    first_seconds: f64,
    /// Median without the first proof (of the first if it is the only one).
    median_seconds: f64,
    runs_seconds: Vec<f64>,
    /// Kernels written for the circuit's constraints, after the last proof; absent for the published engines.
    constraint_kernels: Option<KernelReport>,
    /// Counters of the last proof; absent for the published engines.
    counters: Option<StreamCounters>,
    /// Device time by stage and kernel of all proofs, if OPENVM_METAL_PROFILE is 1.
    profile: Option<ProfileTable>,
}

impl Report {
    pub fn new(
        args: &CircuitArgs,
        device: String,
        constraint_kernels: Option<KernelReport>,
        profile: Option<ProfileTable>,
        vk: &MultiStarkVerifyingKey<SC>,
        runs: &[Run],
    ) -> Result<Self> {
        let seconds = |run: &Run| run.time.as_secs_f64();
        let runs_seconds: Vec<f64> = runs.iter().map(seconds).collect();
        let mut warm = runs_seconds[usize::from(runs.len() > 1)..].to_vec();
        warm.sort_by(f64::total_cmp);
        let last = runs.last();
        let proof_bytes = match last {
            Some(run) => run.proof.encode_to_vec().map_err(CliError::Output)?.len(),
            None => 0,
        };
        Ok(Self {
            circuit: args.circuit.to_string(),
            engine: format!("{:?}", args.engine).to_lowercase(),
            device,
            permutations: args.permutations.get(),
            log_stacked: args.log_stacked,
            proof_bytes,
            vk_hash: key_hash(vk).to_string(),
            security_bits: security_bits(vk),
            valid: true,
            first_seconds: runs_seconds.first().copied().unwrap_or_default(),
            median_seconds: warm.get(warm.len() / 2).copied().unwrap_or_default(),
            runs_seconds,
            constraint_kernels,
            counters: last.and_then(|run| run.counters.clone()),
            profile,
        })
    }

    pub fn print(&self, json: bool) -> Result<()> {
        if json {
            return table::json(self);
        }
        if let Some(counters) = &self.counters {
            table::line(phases(counters))?;
        }
        if let Some(counters) = &self.counters {
            table::line(host_work(counters))?;
        }
        if let Some(kernels) = &self.constraint_kernels {
            table::line(kernels_line(kernels))?;
        }
        if let Some(profile) = &self.profile {
            table::line(profile)?;
        }
        let time = |seconds| table::duration(Duration::from_secs_f64(seconds));
        table::line(format!(
            "{} proved by engine {} on {}",
            self.circuit, self.engine, self.device
        ))?;
        table::line(format!(
            "first {}, median {}, proof of {}: valid",
            time(self.first_seconds),
            time(self.median_seconds),
            table::bytes(self.proof_bytes as u64)
        ))?;
        table::line(format!(
            "key {}, {:.1} bits of security",
            self.vk_hash, self.security_bits
        ))
    }
}

/// State of the compilation of the kernels for constraints.
fn kernels_line(kernels: &KernelReport) -> String {
    let KernelReport {
        ready,
        pending,
        failed,
    } = kernels;
    let mut line = format!("units of constraint kernels: {ready} ready, {pending} compiling");
    match failed.first() {
        Some(reason) => {
            line += &format!(
                ", {} failed, constraints interpreted: {reason}",
                failed.len()
            );
        }
        None if ready + pending == 0 => line += "; constraints are interpreted",
        None => {}
    }
    line
}

/// Work of the host: planned, and in place of a device that could not do it.
fn host_work(counters: &StreamCounters) -> String {
    let total = counters.total();
    let list = |works: &BTreeMap<&str, HostWork>| match works.is_empty() {
        true => "none".to_owned(),
        false => works
            .iter()
            .map(|(what, work)| format!("{what} {} x, at most {}", work.times, work.largest))
            .collect::<Vec<_>>()
            .join("; "),
    };
    format!(
        "on the host (times, elements at a time): {}\nfallbacks to the host: {}",
        list(&total.host_work),
        list(&total.host_fallbacks)
    )
}

/// One row per stage: inclusive time, and counts of the stage with those nested in it.
fn phases(counters: &StreamCounters) -> comfy_table::Table {
    let wall = |path: &str| Duration::from_nanos(counters.inclusive(path).wall_ns);
    let unit = Unit::of_times([wall("")]);
    let time = unit.header("time");
    let header = [
        "stage",
        &time,
        "dispatches",
        "host syncs",
        "to device (MiB)",
        "to host (MiB)",
        "peak (MiB)",
    ];
    let mut rows = table::table(&header, &[1, 2, 3, 4, 5, 6]);
    let mut row = |name: &str, path: &str| {
        let stage = counters.inclusive(path);
        rows.add_row([
            name.to_owned(),
            unit.time(wall(path)),
            stage.dispatches.to_string(),
            stage.waits.to_string(),
            table::mib(stage.bytes_h2d),
            table::mib(stage.bytes_d2h),
            table::mib(stage.peak_bytes),
        ]);
    };
    for stage in &counters.stages {
        if stage.stage.is_empty() {
            continue;
        }
        let depth = stage.stage.matches('/').count();
        row(
            &format!("{}{}", "  ".repeat(depth), label(&stage.stage)),
            &stage.stage,
        );
    }
    row("total", "");
    rows
}

/// The last part of a stage's path, without what it repeats of the part before.
fn label(path: &str) -> &str {
    let mut parts = path.rsplit('/');
    let name = parts.next().unwrap_or(path);
    let repeated = parts.next().and_then(|outer| name.strip_prefix(outer));
    repeated
        .and_then(|rest| rest.strip_prefix('.'))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::label;

    #[test]
    fn labels() {
        assert_eq!(label("prover.openings"), "prover.openings");
        assert_eq!(label("prover.openings/prover.openings.whir"), "whir");
        assert_eq!(label("prover.openings/grind_pow"), "grind_pow");
        assert_eq!(label("a/ab"), "ab");
    }
}
