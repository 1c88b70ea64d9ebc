//! `openvm-metal selftest`: every kernel against its oracle, on the device of the user.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

use clap::Args;
use openvm_metal_backend::selftest::{checks, CheckFailure, Coverage};
use openvm_metal_backend::MetalProverError;
use openvm_metal_common::{
    device_checks, CommandStream, DeviceInfo, Diagnostic, MetalBuffer, MetalContext, MetalError,
};
use serde::Serialize;

use crate::error::{CliError, Result};
use crate::host::HostReport;
use crate::target_device::DeviceArgs;
use crate::{
    interrupt,
    table::{self, Unit},
};

/// Options of `openvm-metal selftest`.
#[derive(Args)]
pub struct SelftestArgs {
    /// Run only checks with TEXT in their path, for example `ntt/transpose`.
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,
    /// Set the seed of the random inputs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
    /// Print the paths of the checks and do nothing else.
    #[arg(long, conflicts_with = "json")]
    list: bool,
}

/// A check.
pub type Run = dyn Fn(&CommandStream, u64) -> Result<(), Fault>;

/// Failure of a check.
pub struct Fault {
    /// The difference found, or what kept the kernels from running.
    pub text: String,
    /// A kernel of it is left out.
    pub left_out: bool,
}

impl Fault {
    fn of(failure: &CheckFailure) -> Self {
        let left_out = matches!(
            failure,
            CheckFailure::Metal(MetalError::KernelLeftOut { .. })
                | CheckFailure::Prover(MetalProverError::Device(MetalError::KernelLeftOut { .. }))
        );
        let text = failure.to_string();
        Self { text, left_out }
    }
}

/// A check of the device or of the prover's kernels.
pub struct Item {
    /// Name with the folder of its phase.
    pub path: String,
    /// Time each operation: this tells what has run, but a GPU then runs one operation at a time.
    pub profiled: bool,
    /// Runs the check; a fault is an error.
    pub run: Box<Run>,
}

/// The device first: if it cannot copy, no kernel will be right. Whole proofs are made with operations kept
/// apart and as users make them.
pub fn items() -> Vec<Item> {
    let device = device_checks().iter().map(|check| Item {
        path: format!("device/{}", check.name),
        profiled: false,
        run: Box::new(|stream, seed| {
            check.run(stream, seed).map_err(|error| Fault {
                text: error.to_string(),
                left_out: false,
            })
        }),
    });
    let kernels = checks();
    let proofs = kernels.clone().into_iter();
    let proofs = proofs.filter(|check| check.group == "prover");
    let kernels = kernels
        .into_iter()
        .map(|check| (check.path(), true, check))
        .chain(proofs.map(|check| (format!("pipelined/{}", check.name), false, check)))
        .map(|(path, profiled, check)| Item {
            path,
            profiled,
            run: Box::new(move |stream, seed| {
                let result = check.run(stream, seed);
                result.map_err(|failure| Fault::of(&failure))
            }),
        });
    device.chain(kernels).collect()
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
    /// Median of a fill of one word with a wait for it.
    round_trip_seconds: Option<f64>,
    diagnostics: Vec<Diagnostic>,
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
pub fn run(args: &SelftestArgs, device: DeviceArgs) -> Result<()> {
    let selected = select(args.filter.as_deref())?;
    if args.list {
        return selected
            .iter()
            .try_for_each(|check| table::line(&check.path));
    }
    let start = Instant::now();
    let context = device.context()?;
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
        round_trip_seconds: round_trip(&context).ok().map(|time| time.as_secs_f64()),
        diagnostics: context.diagnostics(),
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

fn select(filter: Option<&str>) -> Result<Vec<Item>> {
    let all = items();
    let Some(filter) = filter else { return Ok(all) };
    let (selected, rest): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|check| check.path.contains(filter));
    if selected.is_empty() {
        let paths: Vec<_> = rest.iter().map(|check| check.path.as_str()).collect();
        let available = paths.join(", ");
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
    selected: &[Item],
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
        bar.set_message(check.path.clone());
        context.set_profiling(check.profiled);
        let start = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| (check.run)(&context.stream(), seed)));
        let error = match outcome {
            Ok(Ok(())) => None,
            Ok(Err(failure)) => Some(failure.text),
            Err(panic) => Some(format!("panicked: {}", panic_text(&*panic))),
        };
        results.push(CheckReport {
            check: check.path.clone(),
            passed: error.is_none(),
            seconds: start.elapsed().as_secs_f64(),
            error,
        });
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok(results)
}

/// Median of 21 fills of one word, each with a wait for it.
///
/// # Errors
/// If the device failed.
pub fn round_trip(context: &MetalContext) -> Result<Duration> {
    context.set_profiling(false);
    let stream = context.stream();
    let mut word = MetalBuffer::<u32>::zeroed(&stream, 1)?;
    let mut times = Vec::with_capacity(21);
    for _ in 0..21 {
        let start = Instant::now();
        word.fill_zero(&stream)?;
        stream.wait()?;
        times.push(start.elapsed());
    }
    times.sort();
    Ok(times[times.len() / 2])
}

/// The message of a panic.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message")
}

fn print(report: &Report) -> Result<()> {
    let time = |check: &CheckReport| Duration::from_secs_f64(check.seconds);
    let unit = Unit::of_times(report.checks.iter().map(time));
    let header = ["check".into(), "result".into(), unit.header("time")];
    let mut rows = table::table(&header, &[2]);
    for check in &report.checks {
        let result = match &check.error {
            None => "ok".to_owned(),
            Some(error) => format!("FAILED: {error}"),
        };
        rows.add_row([check.check.clone(), result, unit.time(time(check))]);
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
    for diagnostic in &report.diagnostics {
        table::line(format!("{}: {}", diagnostic.name, diagnostic.value))?;
    }
    if let Some(seconds) = report.round_trip_seconds {
        let time = table::duration(Duration::from_secs_f64(seconds));
        table::line(format!("round trip to the device: {time}"))?;
    }
    table::line(format!(
        "{} passed, {} failed; kernels ready in {}, total {}",
        report.passed,
        report.failed,
        table::duration(Duration::from_secs_f64(report.start_seconds)),
        table::duration(Duration::from_secs_f64(report.elapsed_seconds)),
    ))?;
    match (report.failed, &report.coverage) {
        // The error says what to do.
        (1.., _) => Ok(()),
        (0, None) => table::line("next: without --filter, every kernel is checked"),
        (0, Some(_)) => table::line(
            "next: `openvm-metal circuit keccakf` makes a proof, `openvm-metal init NAME` a program to prove",
        ),
    }
}
