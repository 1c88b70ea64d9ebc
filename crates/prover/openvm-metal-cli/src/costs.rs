//! Costs of a program by function, line and chip: the files that `openvm-metal run` writes.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use openvm_metal_profile::{flamegraph, pprof, Profile, Recording, Symbols, TimeModel, Unit};
use openvm_metal_sdk::files;

use crate::{
    error::{CliError, Result},
    file::{self, Named, Read},
    outputs::Outputs,
    table::note,
};

/// Help heading of the options below.
const COSTS: &str = "Costs";

/// Functions and lines in a profile that is text.
const MOST: usize = 50;

/// Names of cargo's profiles, which are no files that anybody means.
const CARGO_PROFILES: [&str; 5] = ["release", "dev", "debug", "test", "bench"];

/// Quantities of a flame graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Quantity {
    Instructions,
    #[default]
    Cells,
    Time,
}

/// Files of costs.
#[derive(Args, Debug)]
pub struct CostArgs {
    /// Write instructions, trace cells and modelled proving time on an NVIDIA H100 by function, line and chip to FILE.
    ///
    /// The format is JSON if the name ends in .json, else text. No proof is made. Cargo's profile is --cargo-profile here.
    #[arg(id = "costs", long = "profile", help_heading = COSTS, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// Draw the call stacks, with inlined functions, as SVG.
    #[arg(long, help_heading = COSTS, value_name = "FILE")]
    flamegraph: Option<PathBuf>,
    /// Select the quantity for the width of a frame.
    #[arg(long, help_heading = COSTS, value_enum, default_value = "cells", requires = "flamegraph")]
    flamegraph_of: Quantity,
    /// Write the call stacks for pprof (`go tool pprof -http : FILE`).
    #[arg(long, help_heading = COSTS, value_name = "FILE")]
    pprof: Option<PathBuf>,
}

impl CostArgs {
    /// True if there is a file to write.
    pub fn is_given(&self) -> bool {
        !self.written().is_empty()
    }

    fn written(&self) -> Vec<Named<'_>> {
        let files = [
            ("--profile", &self.profile),
            ("--flamegraph", &self.flamegraph),
            ("--pprof", &self.pprof),
        ];
        let given = |(name, file)| Option::as_deref(file).map(|file| (name, file));
        files.into_iter().filter_map(given).collect()
    }

    /// Finds out before work whether the files can be written.
    ///
    /// # Errors
    /// A file that cannot be written or is also read.
    pub fn check(&self, read: impl Iterator<Item = Read>) -> Result<()> {
        let profile = self.profile.as_deref().and_then(Path::to_str);
        if profile.is_some_and(|name| CARGO_PROFILES.contains(&name)) {
            return Err(CliError::Usage(
                "--profile names the file that costs are written to; cargo's profile is --cargo-profile here",
            ));
        }
        file::check(&self.written(), &read.collect::<Vec<_>>())
    }

    /// Refuses to write over the program's ELF that was built or found.
    ///
    /// # Errors
    /// [`CliError::SameFile`].
    pub fn spare(&self, elf: &Path) -> Result<()> {
        let what = "the program's ELF with symbols";
        file::distinct(&self.written(), &[(what, elf.to_owned())])
    }

    /// Writes the files.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, recording: &Recording, symbols: &Symbols) -> Result<()> {
        let model = &TimeModel::h100();
        let mut outputs = Outputs::default();
        let mut write = |path: &Path, what: &'static str, bytes: &[u8]| {
            let path = outputs.write(path, |path| files::write_bytes(path, what, bytes))?;
            note(format_args!("{}: {what}", path.display()));
            Ok::<_, CliError>(())
        };
        if let Some(path) = &self.profile {
            let profile = Profile::new(recording, symbols, model);
            let text = match path.extension().is_some_and(|end| end == "json") {
                true => serde_json::to_string_pretty(&profile)? + "\n",
                false => profile.table(MOST),
            };
            write(path, "costs by function, line and chip", text.as_bytes())?;
        }
        if let Some(path) = &self.flamegraph {
            let unit = match self.flamegraph_of {
                Quantity::Instructions => Unit::Instructions,
                Quantity::Cells => Unit::Cells,
                Quantity::Time => Unit::Time,
            };
            let svg = flamegraph(recording, symbols, unit, model)?;
            write(path, "a flame graph", svg.as_bytes())?;
        }
        if let Some(path) = &self.pprof {
            write(
                path,
                "call stacks for pprof",
                &pprof(recording, symbols, model),
            )?;
        }
        outputs.finish()
    }
}
