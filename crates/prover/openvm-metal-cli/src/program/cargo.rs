//! Options of building guests' folders.

use std::path::{Path, PathBuf};

use clap::Args;
use openvm_metal_sdk::guest::{self, BuildOptions, Built, Notice};

use crate::{error::Result, table::note};

/// Help heading of the options below.
const BUILDING: &str = "Building a guest";

/// Options of building guests' folders.
#[derive(Args, Clone, Debug, Default)]
pub struct CargoArgs {
    /// Use this toolchain of rustup [default: OPENVM_RUST_TOOLCHAIN, else stable].
    #[arg(long, help_heading = BUILDING, value_name = "NAME")]
    toolchain: Option<String>,
    /// Build with this profile of cargo [default: release].
    #[arg(long, help_heading = BUILDING, value_name = "NAME")]
    profile: Option<String>,
    /// Build with these features of the package, separated by commas.
    #[arg(long, help_heading = BUILDING, value_name = "NAMES", value_delimiter = ',')]
    features: Vec<String>,
    /// Take this program of a package that has several.
    #[arg(long, help_heading = BUILDING, value_name = "NAME")]
    bin: Option<String>,
    /// Write cargo's output to FOLDER [default: the package's target folder].
    #[arg(long, help_heading = BUILDING, value_name = "FOLDER")]
    target_dir: Option<PathBuf>,
    /// Refuse if Cargo.lock would change.
    #[arg(long, help_heading = BUILDING)]
    locked: bool,
    /// Arguments for `cargo build`, after `--`: for example `-- --offline`, `-- --all-features` or `-- --verbose`.
    #[arg(last = true, help_heading = BUILDING, value_name = "CARGO ARGS")]
    cargo_args: Vec<String>,
}

impl CargoArgs {
    /// True if the command line says anything about building.
    pub fn is_given(&self) -> bool {
        let named = [&self.toolchain, &self.profile, &self.bin];
        named.iter().any(|option| option.is_some())
            || !self.features.is_empty()
            || self.target_dir.is_some()
            || self.locked
            || !self.cargo_args.is_empty()
    }

    /// The same build in another target folder, with the versions of `Cargo.lock`.
    pub fn again_in(&self, target_dir: &Path) -> Self {
        Self {
            target_dir: Some(target_dir.to_owned()),
            locked: true,
            ..self.clone()
        }
    }

    /// Build with this profile of cargo [default: release].
    pub fn profile(&self) -> &str {
        self.profile.as_deref().unwrap_or("release")
    }

    /// The target folder of the guest in `folder`, which is not built.
    ///
    /// # Errors
    /// See [`guest::target_dir`].
    pub fn target_dir(&self, folder: &Path) -> Result<PathBuf> {
        Ok(guest::target_dir(folder, &self.options(), &tell)?)
    }

    /// Builds the guest in `folder`, saying on standard error what is installed.
    ///
    /// # Errors
    /// See [`guest::build`].
    pub fn build(&self, folder: &Path) -> Result<Built> {
        Ok(guest::build(folder, &self.options(), &tell)?)
    }

    fn options(&self) -> BuildOptions {
        BuildOptions {
            toolchain: self.toolchain.clone(),
            profile: self.profile.clone(),
            features: self.features.clone(),
            program: self.bin.clone(),
            target_dir: self.target_dir.clone(),
            locked: self.locked,
            cargo_args: self.cargo_args.clone(),
        }
    }
}

/// Says what happens, on standard error.
fn tell(notice: Notice<'_>) {
    match notice {
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
        Notice::Flags { from, flags } => {
            note(format_args!("rustc gets {} ({from})", flags.join(" ")));
        }
        Notice::LeftOut(variable) => {
            note(format_args!(
                "{variable} is not used for guests: use --target-dir"
            ));
        }
        Notice::Outside(package) => {
            note(format_args!(
                "warning: {package} lies outside of the guest's workspace: the bytes of the executable depend on its path"
            ));
        }
        _ => {}
    }
}
