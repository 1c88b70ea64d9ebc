//! `openvm-metal report`: everything that a machine can tell, in one file to post.
//!
//! Each section runs in a process of its own with a time limit. One that breaks down, hangs or loses the device costs the
//! item at hand; a new process goes on with the next.

mod data;
mod event;
mod files;
mod markdown;
mod sections;
mod supervisor;
mod worker;

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};

use clap::Args;
use openvm_metal_common::{devices, Device, DeviceKind, MetalError};

use self::data::{Report, SectionReport, Status};
use self::files::Files;
use self::sections::{Job, Section, SECTIONS};
use self::supervisor::Limits;
use self::worker::Worker;
use crate::error::{CliError, Result};
use crate::target_device::DeviceArgs;
use crate::{host, interrupt, table};

/// Version of the JSON file's format.
const FORMAT: u32 = 1;

/// Options of `openvm-metal report`.
#[derive(Args)]
pub struct ReportArgs {
    #[command(flatten)]
    device: DeviceArgs,
    /// The report is STEM.md, and STEM.json for programs.
    #[arg(long, value_name = "STEM", default_value = "openvm-metal-report")]
    out: PathBuf,
    /// Only this section; may be given several times. --list prints their names.
    #[arg(long, value_name = "SECTION")]
    only: Vec<String>,
    /// Seed of the random inputs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Random programs that are compared with the interpreter.
    #[arg(long, value_name = "N", default_value_t = 300)]
    programs: u64,
    /// Seconds that a section may take, instead of its own limit.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    limit: Option<u64>,
    /// Print the names of the sections and do nothing else.
    #[arg(long)]
    list: bool,
}

impl ReportArgs {
    /// Device of the command.
    pub fn device(&mut self) -> &mut DeviceArgs {
        &mut self.device
    }
}

/// Options of the process that runs one section.
#[derive(Args)]
pub struct SectionArgs {
    name: String,
    #[command(flatten)]
    device: DeviceArgs,
    #[arg(long)]
    from: usize,
    #[arg(long)]
    seed: u64,
    #[arg(long)]
    programs: u64,
}

/// Makes the report.
///
/// # Errors
/// Before any work: an unknown section, a file that cannot be written, a named device that is not there. Afterwards:
/// [`CliError::ReportFailures`], [`CliError::Interrupted`], or a report that could not be written to its end.
pub fn run(args: &ReportArgs) -> Result<()> {
    let selected = select(&args.only)?;
    if args.list {
        return selected
            .iter()
            .try_for_each(|section| table::line(format!("{:12} {}", section.name, section.title)));
    }
    let device = args.device.device()?;
    let mut files = Files::new(&args.out)?;
    check_device(device)?;
    let mut report = Report {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        commit: host::COMMIT,
        device: device.to_string(),
        seed: args.seed,
        started: SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs()),
        complete: false,
        sections: selected
            .iter()
            .map(|section| SectionReport::new(section.name, section.title))
            .collect(),
    };
    let program = std::env::current_exe()?;
    let bar = table::progress(selected.len(), false);
    for (number, section) in selected.iter().enumerate() {
        let limits = Limits {
            section: Duration::from_secs(args.limit.unwrap_or(section.seconds)),
            item: Duration::from_secs(args.limit.unwrap_or(section.item_seconds)),
        };
        let command = |from: usize| {
            let mut command = Command::new(&program);
            command
                .args(["report-section", section.name])
                .args(["--device", &device.to_string()])
                .args(["--from", &from.to_string()])
                .args(["--seed", &args.seed.to_string()])
                .args(["--programs", &args.programs.to_string()]);
            Ok(command)
        };
        let mut current = report.sections[number].clone();
        supervisor::run(&mut current, limits, command, |section| {
            bar.set_message(progress(section));
            report.sections[number] = section.clone();
            files.update(&report);
        });
        let interrupted = current.status == Status::Interrupted;
        report.sections[number] = current;
        report.complete = !interrupted && number + 1 == selected.len();
        files.update(&report);
        bar.inc(1);
        if interrupted {
            break;
        }
    }
    bar.finish_and_clear();
    finish(&report, &mut files)
}

/// Runs a section in this process.
///
/// # Errors
/// If there is no such section; all else is told to the process that asked for it.
pub fn run_section(args: &SectionArgs) -> Result<()> {
    interrupt::at_once();
    let [section] = select(std::slice::from_ref(&args.name))?[..] else {
        return Err(CliError::Usage("one section at a time"));
    };
    let job = Job {
        device: args.device.clone(),
        seed: args.seed,
        programs: args.programs,
    };
    let mut worker = Worker::new(args.from);
    worker::finish((section.run)(&job, &mut worker));
    Ok(())
}

fn select(only: &[String]) -> Result<Vec<&'static Section>> {
    if let Some(unknown) = only
        .iter()
        .find(|name| SECTIONS.iter().all(|section| section.name != **name))
    {
        let names: Vec<_> = SECTIONS.iter().map(|section| section.name).collect();
        return Err(CliError::NothingSelected {
            what: "section",
            filter: unknown.clone(),
            available: names.join(", "),
        });
    }
    let wanted = |section: &&Section| only.is_empty() || only.iter().any(|n| n == section.name);
    Ok(SECTIONS.iter().filter(wanted).collect())
}

/// A device that was named must be there.
fn check_device(device: Device) -> Result<()> {
    let kind = match device {
        Device::Metal => DeviceKind::Metal,
        Device::Cuda(_) => DeviceKind::Cuda,
        Device::Auto | Device::Cpu | Device::CpuConformance => return Ok(()),
    };
    let of_kind: Vec<_> = devices().into_iter().filter(|d| d.kind == kind).collect();
    let missing = match of_kind.iter().find(|found| found.device == device) {
        Some(found) => found.missing.clone(),
        None => Some(format!(
            "{device} was asked for, there are {}",
            of_kind.len()
        )),
    };
    match missing {
        None => Ok(()),
        Some(reason) => Err(MetalError::DeviceUnavailable {
            device: kind,
            reason,
        }
        .into()),
    }
}

fn progress(section: &SectionReport) -> String {
    let running = section.items.last().filter(|item| item.outcome.is_none());
    match running {
        Some(item) => format!("{}: {}", section.name, item.name),
        None => section.name.to_owned(),
    }
}

fn finish(report: &Report, files: &mut Files) -> Result<()> {
    if let Some(error) = files.error() {
        return Err(error);
    }
    let (markdown, json) = (files.markdown(), files.json());
    table::line(markdown::verdict(report))?;
    table::line(format!("written to {markdown} and {json}"))?;
    if !report.complete {
        return Err(CliError::Interrupted);
    }
    table::line(markdown::next_step(report, &markdown, &json))?;
    match report.count() {
        (_, 0) => Ok(()),
        (total, failed) => Err(CliError::ReportFailures {
            failed,
            total,
            report: markdown,
        }),
    }
}
