//! `openvm-metal report`: a test of this machine, in one file to post.
//!
//! Each section runs in a child process with a time limit. A section that breaks down, hangs or loses the device costs the item at
//! hand; another process goes on with the next.

mod data;
mod files;
mod markdown;
mod sections;
mod supervisor;
mod worker;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use clap::Args;
use openvm_metal_common::{devices, Device, DeviceKind, MetalError};

use self::data::{Event, Item, Outcome, Report, SectionReport, Status};
use self::files::Files;
use self::sections::{Job, Section, Work, COMPILED, SECTIONS};
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
    /// Write STEM.md for people and STEM.json for programs.
    #[arg(long, value_name = "STEM", default_value = "openvm-metal-report")]
    out: PathBuf,
    /// Run only this section; repeat the option for several. --list prints their names.
    #[arg(long, value_name = "SECTION")]
    only: Vec<String>,
    /// Set the seed of the random inputs.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Set the number of random programs of hologram.
    #[arg(long, value_name = "N", default_value_t = 300)]
    programs: u64,
    /// Limit each section to this time [default: 60 to 2700, by section].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    limit: Option<u64>,
    /// Limit each item to this time [default: 60 to 300, by section].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    item_limit: Option<u64>,
    /// Print the names of the sections and do nothing else.
    #[arg(long)]
    list: bool,
}

/// Options of the process that runs one section.
#[derive(Args)]
pub struct SectionArgs {
    name: String,
    #[arg(long)]
    from: usize,
    /// Do at most so many items.
    #[arg(long)]
    items: Option<usize>,
    #[arg(long)]
    seed: u64,
}

/// Makes the report.
///
/// # Errors
/// Before any work: an unknown section, a file that cannot be written, a named device that is not there. Afterwards:
/// [`CliError::ReportFailures`], [`CliError::Interrupted`], or a report that could not be written to its end.
pub fn run(args: &ReportArgs, device: DeviceArgs) -> Result<()> {
    let selected = select(&args.only)?;
    if args.list {
        return selected
            .iter()
            .try_for_each(|section| table::line(format!("{:12} {}", section.name, section.title)));
    }
    let device = device.device()?;
    let mut files = Files::new(&args.out)?;
    check_device(device)?;
    let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let section_report = |section: &&Section| SectionReport {
        name: section.name,
        title: section.title,
        ..SectionReport::default()
    };
    let mut report = Report {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        commit: host::COMMIT,
        device: device.to_string(),
        seed: args.seed,
        started: started.map_or(0, |since| since.as_secs()),
        complete: false,
        sections: selected.iter().map(section_report).collect(),
    };
    let program = std::env::current_exe().map_err(|source| CliError::Read {
        path: "the path of this program".to_owned(),
        source,
    })?;
    let hologram = sections::hologram(&program);
    let bar = table::progress(selected.len(), false);
    // Units that never end to compile, or kill their process.
    let mut left_out = Vec::new();
    for (number, section) in selected.iter().enumerate() {
        let limits = Limits {
            section: Duration::from_secs(args.limit.unwrap_or(section.seconds)),
            item: Duration::from_secs(
                args.item_limit
                    .or(args.limit)
                    .unwrap_or(section.item_seconds),
            ),
        };
        let mut current = report.sections[number].clone();
        let process = |from, left_out: &[String]| {
            let program = (program.as_path(), hologram.as_deref());
            let mut command = command(program, section, args, device, from);
            command.env("OPENVM_METAL_ERROR_DETAILS", "1");
            if !left_out.is_empty() {
                let given = std::env::var("OPENVM_METAL_LEAVE_OUT").ok();
                let names = given.iter().chain(left_out).map(String::as_str);
                command.env(
                    "OPENVM_METAL_LEAVE_OUT",
                    names.collect::<Vec<_>>().join(","),
                );
            }
            command
        };
        if matches!(section.work, Work::Hologram) && hologram.is_none() {
            leave_out(
                &mut current,
                "hologram is not installed beside openvm-metal or on PATH",
            );
        } else {
            let mut changed = |section: &SectionReport| {
                bar.set_message(progress(section));
                report.sections[number] = section.clone();
                files.update(&report);
            };
            supervisor::run(
                &mut current,
                limits,
                |from| process(from, &left_out),
                &mut changed,
            );
            if section.again && current.status != Status::Interrupted {
                let alone = |from| {
                    let mut command = process(from, &left_out);
                    command.args(["--items", "1"]);
                    command
                };
                supervisor::again(&mut current, limits, alone, &mut changed);
            }
        }
        if section.name == COMPILED {
            left_out = current.lost();
        }
        // Any program may have this name.
        if matches!(section.work, Work::Hologram) && current.is_foreign() {
            leave_out(
                &mut current,
                "the program hologram that was found is not of this version",
            );
        }
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
    finish(&report, files)
}

/// The process that does the items of a section from number `from` on.
fn command(
    (program, hologram): (&Path, Option<&Path>),
    section: &Section,
    args: &ReportArgs,
    device: Device,
    from: usize,
) -> Command {
    let mut command = match (&section.work, hologram) {
        (Work::Hologram, Some(hologram)) => {
            let mut command = Command::new(hologram);
            let programs = args.programs.to_string();
            command.args(["selftest", "--events", "--programs", &programs]);
            command
        }
        _ => {
            let mut command = Command::new(program);
            command.args(["report-section", section.name]);
            command
        }
    };
    command
        .args(["--device", &device.to_string()])
        .args(["--from", &from.to_string()])
        .args(["--seed", &args.seed.to_string()]);
    command
}

/// Marks a section that has nothing to run.
fn leave_out(report: &mut SectionReport, reason: &str) {
    report.status = Status::Complete;
    report.error = None;
    report.items = vec![Item {
        name: "hologram selftest".into(),
        outcome: Some(Outcome::Skipped),
        detail: format!("left out: {reason}"),
        seconds: 0.0,
    }];
}

/// Runs a section in this process.
///
/// # Errors
/// An unknown section; what the section could not do: the message is the reason in the report.
pub fn run_section(args: &SectionArgs, device: DeviceArgs) -> Result<()> {
    interrupt::at_once();
    let sections = select(std::slice::from_ref(&args.name))?;
    let Some(Work::Own(run)) = sections.first().map(|section| &section.work) else {
        return Err(CliError::Usage("this section is not of this program"));
    };
    let job = Job {
        device,
        seed: args.seed,
    };
    run(&job, &mut Worker::new(args.from, args.items))?;
    Event::Done.send();
    Ok(())
}

fn select(only: &[String]) -> Result<Vec<&'static Section>> {
    let names = || SECTIONS.iter().map(|section| section.name);
    if let Some(unknown) = only
        .iter()
        .find(|name| names().all(|known| known != **name))
    {
        return Err(CliError::NothingSelected {
            what: "section",
            filter: unknown.clone(),
            available: names().collect::<Vec<_>>().join(", "),
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

fn finish(report: &Report, files: Files) -> Result<()> {
    if let Some(error) = files.error {
        return Err(error);
    }
    let (markdown, json) = (files.markdown.display(), files.json.display());
    table::line(markdown::verdict(report))?;
    table::line(format!("written to {markdown} and {json}"))?;
    if !report.complete {
        return Err(CliError::Interrupted);
    }
    let (markdown, json) = (markdown.to_string(), json.to_string());
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
