//! `openvm-metal bench kernels`.

use std::time::Duration;

use clap::Args;
use openvm_metal_common::DeviceInfo;
use serde::Serialize;

use crate::error::{CliError, Result};
use crate::host::HostReport;
use crate::rates::{cases, measure, Case, Roof, Row, RUNS};
use crate::table::{self, Unit};
use crate::target_device::DeviceArgs;

/// Options of `openvm-metal bench kernels`.
#[derive(Args)]
pub struct KernelsArgs {
    /// Measure only kernels with TEXT in their path, as `ntt/forward`.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Take about 2^N elements per kernel [default: 20 on CPUs, 22 on GPUs].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(10..=28))]
    log_size: Option<u8>,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    host: HostReport,
    device: &'a DeviceInfo,
    runs: usize,
    roof: Roof,
    kernels: Vec<Row>,
}

/// Measures the peaks, then the kernels.
///
/// # Errors
/// If nothing matches the filter, the device cannot be used, the peaks cannot be measured, or Ctrl-C. A
/// kernel that cannot run, for example for lack of memory, is a row.
pub fn run(args: &KernelsArgs, device: DeviceArgs) -> Result<()> {
    let selected = select(args.filter.as_deref())?;
    let context = device.context()?;
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
    let seconds = |row: &Row| Duration::from_secs_f64(row.seconds);
    let unit = Unit::of_times(report.kernels.iter().map(seconds));
    let time = unit.header("time");
    let header = [
        "kernel",
        "size",
        &time,
        "rate",
        "products/s",
        "bytes/s",
        "% of roof",
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
            unit.time(seconds(row)),
            format!("{}{}/s", table::rate(row.rate), row.unit),
            table::rate(row.products_per_second),
            format!("{}B", table::rate(row.bytes_per_second)),
            format!("{:.0}%", row.percent_of_floor),
            row.bound.clone(),
            if row.in_proofs { "yes" } else { "" }.to_owned(),
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
