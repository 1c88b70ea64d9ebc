//! `openvm-metal selftest`: every kernel against its oracle, on the device of the user.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

use clap::Args;
use openvm_metal_backend::selftest::{checks, Check, Coverage};
use openvm_metal_common::{DeviceInfo, MetalContext};
use serde::Serialize;

use crate::error::{CliError, Result};
use crate::host::HostReport;
use crate::target_device::DeviceArgs;
use crate::{interrupt, table};

/// Options of `openvm-metal selftest`.
#[derive(Args)]
pub struct SelftestArgs {
    #[command(flatten)]
    device: DeviceArgs,
    /// Run only checks whose path (for example `poly/fold`) contains this text.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Seed of the random inputs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Print the paths of the checks and do nothing else.
    #[arg(long, conflicts_with = "json")]
    list: bool,
}

#[derive(Serialize)]
struct CheckReport {
    check: String,
    passed: bool,
    seconds: f64,
    error: Option<String>,
}

#[derive(Serialize)]
struct Report<'a> {
    host: HostReport,
    device: &'a DeviceInfo,
    seed: u64,
    /// Opening the device and compiling all kernels.
    start_seconds: f64,
    elapsed_seconds: f64,
    passed: usize,
    failed: usize,
    /// Absent if a filter left checks out.
    coverage: Option<Coverage>,
    checks: Vec<CheckReport>,
}

/// Runs the checks.
///
/// # Errors
/// [`CliError::ChecksFailed`], or what kept the device from being used.
pub fn run(args: &SelftestArgs) -> Result<()> {
    let selected = select(args.filter.as_deref())?;
    if args.list {
        return selected
            .iter()
            .try_for_each(|check| table::line(check.path()));
    }
    let start = Instant::now();
    let context = args.device.context()?;
    context.set_profiling(true);
    let start_seconds = start.elapsed().as_secs_f64();
    if !args.json {
        table::line(format!("device: {}", context.info()))?;
    }
    let results = run_checks(&context, &selected, args.seed, args.json)?;
    let failed = results.iter().filter(|result| !result.passed).count();
    let report = Report {
        host: HostReport::gather(),
        device: context.info(),
        seed: args.seed,
        start_seconds,
        elapsed_seconds: start.elapsed().as_secs_f64(),
        passed: results.len() - failed,
        failed,
        coverage: match args.filter {
            Some(_) => None,
            None => Coverage::of(&context).ok(),
        },
        checks: results,
    };
    if args.json {
        table::json(&report)?;
    } else {
        print(&report)?;
    }
    match failed {
        0 => Ok(()),
        failed => Err(CliError::ChecksFailed {
            failed,
            total: report.checks.len(),
        }),
    }
}

fn select(filter: Option<&str>) -> Result<Vec<Check>> {
    let all = checks();
    let Some(filter) = filter else { return Ok(all) };
    let selected: Vec<Check> = all
        .iter()
        .filter(|check| check.path().contains(filter))
        .copied()
        .collect();
    if selected.is_empty() {
        let available = all.iter().map(Check::path).collect::<Vec<_>>().join(", ");
        return Err(CliError::NothingSelected {
            what: "check",
            filter: filter.to_owned(),
            available,
        });
    }
    Ok(selected)
}

fn run_checks(
    context: &MetalContext,
    selected: &[Check],
    seed: u64,
    quiet: bool,
) -> Result<Vec<CheckReport>> {
    let bar = table::progress(selected.len(), quiet);
    let mut results = Vec::with_capacity(selected.len());
    for check in selected {
        if interrupt::requested() {
            bar.finish_and_clear();
            return Err(CliError::Interrupted);
        }
        bar.set_message(check.path());
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| check.run(&context.stream(), seed)));
        let error = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(failure)) => Some(failure.to_string()),
            Err(panic) => Some(format!("panicked: {}", panic_text(&*panic))),
        };
        results.push(CheckReport {
            check: check.path(),
            passed: error.is_none(),
            seconds: start.elapsed().as_secs_f64(),
            error,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(results)
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

fn print(report: &Report) -> Result<()> {
    let mut rows = table::table(&["check", "result", "time"], &[2]);
    for check in &report.checks {
        let result = match &check.error {
            None => "ok".to_owned(),
            Some(error) => format!("FAILED: {error}"),
        };
        rows.add_row([
            check.check.clone(),
            result,
            table::duration(Duration::from_secs_f64(check.seconds)),
        ]);
    }
    table::line(rows)?;
    let host = &report.host;
    table::line(format!(
        "openvm-metal {} on {} ({}, {} threads)",
        host.version, host.os, host.arch, host.threads
    ))?;
    if let Some(coverage) = &report.coverage {
        table::line(format!(
            "{} of {} kernels were run",
            coverage.run, coverage.kernels
        ))?;
        if !coverage.never_run.is_empty() {
            table::line(format!("not run: {}", coverage.never_run.join(", ")))?;
        }
    }
    table::line(format!(
        "{} passed, {} failed; kernels ready in {}, total {}",
        report.passed,
        report.failed,
        table::duration(Duration::from_secs_f64(report.start_seconds)),
        table::duration(Duration::from_secs_f64(report.elapsed_seconds)),
    ))
}
