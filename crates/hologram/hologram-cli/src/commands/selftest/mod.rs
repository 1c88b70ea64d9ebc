//! `hologram selftest`: instructions, operations and random programs on the user's device.

mod events;
mod report;
mod sections;

use std::time::Instant;

use clap::Args;
use hologram_backends::metal::LIBRARY;
use hologram_backends::BackendError;
use openvm_metal_common::{Device, MetalContext};

use self::report::{Outcome, Report};
use self::sections::Section;
use crate::commands::put;
use crate::error::{CliError, Result};

/// Arguments of `selftest`.
#[derive(Args, Debug)]
pub struct SelftestArgs {
    /// Device to test: auto (an Apple GPU, else an NVIDIA GPU, else the processor), metal, cuda, cuda:N, cpu or
    /// cpu-conformance.
    #[arg(long, default_value = "auto", value_parser = super::device)]
    pub device: Device,
    /// Run only this section; may be given several times.
    #[arg(long, value_enum)]
    only: Vec<Section>,
    /// Number of random programs.
    #[arg(long, value_name = "N", default_value_t = 300)]
    programs: u64,
    /// Seed of the first random program.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print one JSON object instead of text.
    #[arg(long)]
    json: bool,
    /// Print the names of the tests and do nothing else.
    #[arg(long, conflicts_with = "json")]
    list: bool,
    /// Print one JSON object a line before and after each test, as `openvm-metal report` reads them.
    #[arg(long, conflicts_with_all = ["json", "list"])]
    events: bool,
    /// Begin with test N, counted from 0, of those that are selected.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "events")]
    from: usize,
}

/// Runs the sections one after another; a failure ends none of them.
///
/// # Errors
/// A device that cannot be opened, or [`CliError::SelftestFailed`].
pub fn run(args: &SelftestArgs) -> Result<()> {
    let start = Instant::now();
    let lost = |e: openvm_metal_common::MetalError| BackendError::Device(e.to_string());
    let context = MetalContext::new(args.device, &[&LIBRARY]).map_err(lost)?;
    let mut chosen: Vec<Section> = match args.only.as_slice() {
        [] => Section::ALL.to_vec(),
        only => only.to_vec(),
    };
    chosen.sort();
    chosen.dedup();
    if args.list {
        let lines: String = chosen
            .iter()
            .flat_map(|section| section.items(&context, args))
            .map(|item| format!("{}/{}\n", item.section.name(), item.name))
            .collect();
        return put(None, lines.as_bytes());
    }
    if args.events {
        let items = chosen
            .iter()
            .flat_map(|section| section.items(&context, args));
        return events::run(&context, items.skip(args.from));
    }
    let mut report = Report::new(&context, args.seed, args.json);
    report.head()?;
    for section in chosen {
        for item in section.items(&context, args) {
            report.run(item)?;
        }
        report.end_section(section)?;
    }
    report.end(start.elapsed())?;
    match report.count(Outcome::is_failure) {
        0 => Ok(()),
        failed => Err(CliError::SelftestFailed {
            failed,
            total: report.count(|_| true),
        }),
    }
}
