//! Sections of a report, in order: cheap and certain things first.

mod kernels;
mod machine;
mod proofs;

use std::path::{Path, PathBuf};

use openvm_metal_common::MetalError;

use super::worker::{Problem, Worker};
use crate::error::{CliError, Result};
use crate::target_device::DeviceArgs;

/// Inputs of the sections.
pub struct Job {
    /// The device under test.
    pub device: DeviceArgs,
    /// Seed of random inputs.
    pub seed: u64,
}

/// Program of a section's processes.
pub enum Work {
    /// This program, with this function.
    Own(fn(&Job, &mut Worker) -> Result<()>),
    /// `hologram selftest`, if it is installed.
    Hologram,
}

/// A part of the report.
pub struct Section {
    /// Short name.
    pub name: &'static str,
    /// Title of the section.
    pub title: &'static str,
    /// Limit of the section in seconds.
    pub seconds: u64,
    /// Limit of one item, or of opening the device, in seconds.
    pub item_seconds: u64,
    /// Program of its processes.
    pub work: Work,
    /// Failed items are done again with other settings.
    pub again: bool,
}

const fn section(
    name: &'static str,
    title: &'static str,
    [seconds, item_seconds]: [u64; 2],
    work: Work,
    again: bool,
) -> Section {
    Section {
        name,
        title,
        seconds,
        item_seconds,
        work,
        again,
    }
}

/// Name of the section that compiles the units: what is lost there is left out afterwards.
pub const COMPILED: &str = "kernels";

/// All sections. The limits are those of a slow machine: they end processes that hang.
pub const SECTIONS: &[Section] = &[
    section(
        "machine",
        "This machine and this program",
        [60, 60],
        Work::Own(machine::machine),
        false,
    ),
    section(
        COMPILED,
        "The prover's kernels as compiled here, a process for each unit",
        [3600, 300],
        Work::Own(kernels::compiled),
        false,
    ),
    section(
        "device",
        "The device",
        [600, 300],
        Work::Own(machine::device),
        false,
    ),
    section(
        "selftest",
        "The prover's kernels against their oracles",
        [1800, 300],
        Work::Own(kernels::checked),
        true,
    ),
    section(
        "hologram",
        "hologram: kernels, instructions, operations, random programs",
        [2700, 300],
        Work::Hologram,
        false,
    ),
    section(
        "proof",
        "Small proofs",
        [900, 300],
        Work::Own(proofs::small),
        true,
    ),
    section(
        "bench",
        "Rates of kernels",
        [900, 300],
        Work::Own(kernels::rates),
        false,
    ),
    section(
        "submissions",
        "Longest submissions against the watchdog",
        [900, 300],
        Work::Own(proofs::submissions),
        false,
    ),
];

/// The command hologram: beside this program, or in a folder of PATH.
pub fn hologram(program: &Path) -> Option<PathBuf> {
    let name = format!("hologram{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = program.parent().map(Path::to_owned).into_iter();
    // A folder of PATH without a root is one below the user's working directory, which may be a stranger's.
    let folders = folders
        .chain(std::env::split_paths(&path))
        .filter(|folder| folder.is_absolute());
    let mut files = folders.map(|folder| folder.join(&name));
    files.find(|file| file.is_file())
}

/// An error with its remedy. Lack of memory is no failure of the device.
fn problem(error: CliError) -> Problem {
    let text = match error.hint() {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    };
    // The row of its unit has told the fault.
    let left_out = matches!(error.device_error(), Some(MetalError::KernelLeftOut { .. }));
    if error.is_lack_of_memory() || left_out {
        Problem::Skipped(text)
    } else {
        Problem::Failed(text)
    }
}
