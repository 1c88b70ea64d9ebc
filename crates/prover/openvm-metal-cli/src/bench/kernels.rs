//! `openvm-metal bench kernels`.

use std::time::Duration;

use clap::Args;
use openvm_metal_common::{CommandStream, DeviceInfo};
use serde::{Deserialize, Serialize};

use super::case::{Case, Least, Work};
use super::measure::{median_time, RUNS};
use super::roof::Roof;
use super::{commit, grind, hash, ntt};
use crate::error::{CliError, Result};
use crate::host::HostReport;
use crate::table;
use crate::target_device::DeviceArgs;

/// Options of `openvm-metal bench kernels`.
#[derive(Args)]
pub struct KernelsArgs {
    #[command(flatten)]
    device: DeviceArgs,
    /// Measure only kernels whose path (for example `ntt/forward`) contains this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// About 2^N elements per kernel; 20 on CPUs, 22 on GPUs if absent.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(10..=28))]
    log_size: Option<u8>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

impl KernelsArgs {
    /// Device of the command.
    pub fn device(&mut self) -> &mut DeviceArgs {
        &mut self.device
    }
}

/// Measurement of a kernel.
#[derive(Serialize, Deserialize)]
pub struct Row {
    /// Phase and name.
    pub kernel: String,
    /// True if proofs do it.
    #[serde(default)]
    pub in_proofs: bool,
    /// Size of its input.
    pub size: String,
    /// Median.
    pub seconds: f64,
    /// Things per second, see `unit`.
    pub rate: f64,
    /// Unit of the count.
    pub unit: String,
    /// By the cost clauses.
    pub bytes_per_second: f64,
    /// By the cost clauses.
    pub products_per_second: f64,
    /// Least time that the measured peaks allow over the time taken, in percent.
    pub percent_of_floor: f64,
    /// The peak that makes the floor: `memory` or `arithmetic`.
    pub bound: String,
    /// Reason why there is no figure; then all figures are zero.
    error: Option<String>,
}

impl Row {
    /// Mark in tables for cases that proofs do.
    pub fn mark(&self) -> &'static str {
        match self.in_proofs {
            true => "yes",
            false => "",
        }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    host: HostReport,
    device: &'a DeviceInfo,
    runs: usize,
    roof: Roof,
    kernels: Vec<Row>,
}

/// Results as `bench report` reads them.
#[derive(Deserialize)]
pub struct KernelResults {
    /// Device of the measurement.
    pub device: DeviceName,
    /// Measured peaks.
    pub roof: Roof,
    /// All kernels.
    pub kernels: Vec<Row>,
}

/// The name of a device in a report.
#[derive(Deserialize)]
pub struct DeviceName {
    /// Name that the driver gives.
    pub name: String,
}

/// All kernels that can be measured.
pub fn cases() -> Vec<Case> {
    [hash::CASES, ntt::CASES, commit::CASES, grind::CASES].concat()
}

/// Measures the peaks, then the kernels.
///
/// # Errors
/// If nothing matches the filter, the device cannot be used, the peaks cannot be measured, or Ctrl-C. A
/// kernel that cannot run, for example for lack of memory, is a row.
pub fn run(args: &KernelsArgs) -> Result<()> {
    let selected = select(args.filter.as_deref())?;
    let context = args.device.context()?;
    // Loading a kernel holds up the launches of others.
    context.kernel_report();
    let s = context.stream();
    let default_size = if context.device_profile().many_core() {
        22
    } else {
        20
    };
    let log_size = args.log_size.map_or(default_size, usize::from);
    if !args.json {
        table::line(format!("device: {}", context.info()))?;
    }
    let roof = Roof::measure(&s)?;
    let bar = table::progress(selected.len(), args.json);
    let mut rows = Vec::with_capacity(selected.len());
    for case in &selected {
        bar.set_message(case.path());
        let row = measure(&s, case, log_size, &roof);
        if let Err(CliError::Interrupted) = row {
            bar.finish_and_clear();
            return Err(CliError::Interrupted);
        }
        rows.push(row.unwrap_or_else(|error| failed_row(case, &error)));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let report = Report {
        host: HostReport::gather(),
        device: context.info(),
        runs: RUNS,
        roof,
        kernels: rows,
    };
    if args.json {
        table::json(&report)
    } else {
        print(&report)
    }
}

fn select(filter: Option<&str>) -> Result<Vec<Case>> {
    let all = cases();
    let Some(filter) = filter else { return Ok(all) };
    let selected: Vec<Case> = all
        .iter()
        .filter(|case| case.path().contains(filter))
        .copied()
        .collect();
    if selected.is_empty() {
        let available = all.iter().map(Case::path).collect::<Vec<_>>().join(", ");
        let filter = filter.to_owned();
        return Err(CliError::NothingSelected {
            what: "kernel",
            filter,
            available,
        });
    }
    Ok(selected)
}

/// Measures one kernel.
///
/// # Errors
/// If it cannot run, or Ctrl-C.
pub fn measure(s: &CommandStream, case: &Case, log_size: usize, roof: &Roof) -> Result<Row> {
    let mut prepared = (case.prepare)(s, log_size)?;
    let seconds = median_time(s, || (prepared.launch)(s))?;
    let Work { items, unit, least } = prepared.work;
    let (products, bytes) = match least {
        Least::Problem { products, bytes } => (products, bytes),
        Least::Clauses => {
            let before = s.counters().total();
            (prepared.launch)(s)?;
            let after = s.counters().total();
            let products = after.products - before.products;
            let bytes = after.kernel_bytes - before.kernel_bytes;
            (products as f64, bytes as f64)
        }
    };
    let by_memory = bytes / roof.bytes_per_second > products / roof.products_per_second;
    Ok(Row {
        kernel: case.path(),
        in_proofs: case.in_proofs,
        size: prepared.size,
        seconds,
        rate: items / seconds,
        unit: unit.to_owned(),
        bytes_per_second: bytes / seconds,
        products_per_second: products / seconds,
        percent_of_floor: 100.0 * roof.floor(products, bytes) / seconds,
        bound: if by_memory { "memory" } else { "arithmetic" }.to_owned(),
        error: None,
    })
}

fn failed_row(case: &Case, error: &CliError) -> Row {
    Row {
        kernel: case.path(),
        in_proofs: case.in_proofs,
        size: String::new(),
        seconds: 0.0,
        rate: 0.0,
        unit: String::new(),
        bytes_per_second: 0.0,
        products_per_second: 0.0,
        percent_of_floor: 0.0,
        bound: String::new(),
        error: Some(error.to_string()),
    }
}

fn print(report: &Report) -> Result<()> {
    let header = [
        "kernel",
        "size",
        "time",
        "rate",
        "products/s",
        "bytes/s",
        "% of floor",
        "bound",
        "in proofs",
    ];
    let mut rows = table::table(&header, &[2, 3, 4, 5, 6]);
    for row in &report.kernels {
        if let Some(error) = &row.error {
            rows.add_row([row.kernel.clone(), format!("failed: {error}")]);
            continue;
        }
        rows.add_row([
            row.kernel.clone(),
            row.size.clone(),
            table::duration(Duration::from_secs_f64(row.seconds)),
            format!("{}{}/s", table::rate(row.rate), row.unit),
            table::rate(row.products_per_second),
            format!("{}B", table::rate(row.bytes_per_second)),
            format!("{:.0}%", row.percent_of_floor),
            row.bound.clone(),
            row.mark().to_owned(),
        ]);
    }
    table::line(format!(
        "measured peaks: {}products/s, {}B/s of copy traffic (read + write); median of {} runs",
        table::rate(report.roof.products_per_second),
        table::rate(report.roof.bytes_per_second),
        report.runs
    ))?;
    table::line(rows)
}
