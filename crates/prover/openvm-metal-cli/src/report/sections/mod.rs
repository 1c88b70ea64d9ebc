//! Sections of a report, in order: cheap and certain things first.

mod bench;
mod device;
mod kernels;
mod machine;
mod programs;
mod proof;
mod selftest;
mod submissions;
mod table;

use hologram_backends::metal::LIBRARY;
use openvm_metal_common::MetalContext;

use super::worker::{Problem, Worker};
use crate::error::{CliError, Result};
use crate::target_device::DeviceArgs;

/// Inputs of the sections.
pub struct Job {
    /// The device.
    pub device: DeviceArgs,
    /// Seed of random inputs.
    pub seed: u64,
    /// Random programs to compare.
    pub programs: u64,
}

impl Job {
    /// Opens the device with hologram's kernels.
    fn hologram_context(&self) -> Result<MetalContext> {
        Ok(MetalContext::new(self.device.device()?, &[&LIBRARY])?)
    }
}

/// A part of the report.
pub struct Section {
    /// Short name.
    pub name: &'static str,
    /// Title of the section.
    pub title: &'static str,
    /// Seconds that it may take.
    pub seconds: u64,
    /// Seconds that one item, or opening the device, may take.
    pub item_seconds: u64,
    /// Does it.
    pub run: fn(&Job, &mut Worker) -> Result<()>,
}

const fn section(
    name: &'static str,
    title: &'static str,
    seconds: u64,
    item_seconds: u64,
    run: fn(&Job, &mut Worker) -> Result<()>,
) -> Section {
    Section {
        name,
        title,
        seconds,
        item_seconds,
        run,
    }
}

/// All sections. The limits are those of a slow machine: they end what hangs.
pub const SECTIONS: &[Section] = &[
    section(
        "machine",
        "This machine and this program",
        60,
        60,
        machine::run,
    ),
    section("device", "The device", 600, 300, device::run),
    section(
        "kernels",
        "The kernels as compiled here",
        600,
        300,
        kernels::run,
    ),
    section(
        "selftest",
        "The prover's kernels against their oracles",
        1800,
        300,
        selftest::run,
    ),
    section(
        "table",
        "hologram: the instruction table",
        900,
        300,
        table::run,
    ),
    section(
        "programs",
        "hologram: random programs against the interpreter",
        1800,
        300,
        programs::run,
    ),
    section("proof", "Small proofs", 900, 300, proof::run),
    section("bench", "Rates of kernels", 900, 300, bench::run),
    section(
        "submissions",
        "Longest submissions against the watchdog",
        900,
        300,
        submissions::run,
    ),
];

/// The runtime's and the prover's errors with what can be done about them. That a machine has too little memory is no
/// failure of it.
fn problem(error: CliError) -> Problem {
    let text = match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    };
    if error.is_lack_of_memory() {
        Problem::Skipped(text)
    } else {
        Problem::Failed(text)
    }
}
