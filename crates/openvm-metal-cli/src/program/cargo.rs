//! How guests' folders are built.

use std::path::{Path, PathBuf};

use clap::Args;
use openvm_metal_sdk::guest::{self, BuildOptions, Built, Notice};

use crate::{error::Result, table::note};

/// Where the options below are listed.
const BUILDING: &str = "Building a guest";

/// How guests' folders are built.
#[derive(Args, Debug, Default)]
pub struct CargoArgs {
    /// The toolchain, by rustup's name; if absent, OPENVM_RUST_TOOLCHAIN, or stable.
    #[arg(long, help_heading = BUILDING, value_name = "NAME")]
    toolchain: Option<String>,
    /// Cargo's profile.
    #[arg(long, help_heading = BUILDING, value_name = "NAME")]
    profile: Option<String>,
    /// Features of the package, separated by commas.
    #[arg(long, help_heading = BUILDING, value_name = "NAMES", value_delimiter = ',')]
    features: Vec<String>,
    /// The program, if the package has several.
    #[arg(long, help_heading = BUILDING, value_name = "NAME")]
    bin: Option<String>,
    /// Where cargo builds; the package's own target folder if absent.
    #[arg(long, help_heading = BUILDING, value_name = "FOLDER")]
    target_dir: Option<PathBuf>,
    /// Refuse if Cargo.lock would change.
    #[arg(long, help_heading = BUILDING)]
    locked: bool,
}

impl CargoArgs {
    /// True if the command line says anything about building.
    pub fn is_given(&self) -> bool {
        let named = [&self.toolchain, &self.profile, &self.bin];
        named.iter().any(|option| option.is_some())
            || !self.features.is_empty()
            || self.target_dir.is_some()
            || self.locked
    }

    /// Builds the guest in `folder`, saying on standard error what is installed.
    ///
    /// # Errors
    /// See [`guest::build`].
    pub fn build(&self, folder: &Path) -> Result<Built> {
        let options = BuildOptions {
            toolchain: self.toolchain.clone(),
            profile: self.profile.clone(),
            features: self.features.clone(),
            program: self.bin.clone(),
            target_dir: self.target_dir.clone(),
            locked: self.locked,
        };
        Ok(guest::build(folder, &options, &|notice| match notice {
            Notice::InstallToolchain(name) => {
                note(format_args!("installing the toolchain {name} (rustup)"));
            }
            Notice::InstallSources(name) => {
                note(format_args!("adding the standard library's sources to the toolchain {name} (rustup component rust-src)"));
            }
            Notice::Build { program, toolchain } => {
                note(format_args!(
                    "building the guest {program} with the toolchain {toolchain}"
                ));
            }
            _ => {}
        })?)
    }
}
