//! Cargo's metadata of a guest's folder, and the folder's configuration.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use openvm_sdk_config::SdkVmConfig;
use serde::Deserialize;

use super::{error::GuestError, toolchain::Toolchain};
use crate::{
    error::SdkError,
    files::{self, CONFIG_FILE},
};

/// The part of cargo's metadata that is used here.
#[derive(Deserialize)]
pub struct Metadata {
    packages: Vec<Package>,
    pub workspace_root: PathBuf,
    pub target_directory: PathBuf,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    id: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

impl Package {
    fn folder(&self) -> String {
        let folder = self.manifest_path.parent().unwrap_or(&self.manifest_path);
        folder.display().to_string()
    }
}

impl Metadata {
    /// Asks cargo about the package in `folder`.
    pub fn of(folder: &Path, toolchain: &Toolchain) -> Result<Self, GuestError> {
        let output = toolchain
            .cargo()
            .args([
                "metadata",
                "--no-deps",
                "--format-version",
                "1",
                "--manifest-path",
            ])
            .arg(folder.join("Cargo.toml"))
            // Files of cargo's configuration are looked for from here upwards.
            .current_dir(folder)
            .stderr(Stdio::piped())
            .output()
            .map_err(GuestError::NoRustup)?;
        let refuse = |reason: String| GuestError::NotAGuest {
            path: folder.to_owned(),
            reason,
        };
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            return Err(refuse(
                reason.trim().trim_start_matches("error: ").to_owned(),
            ));
        }
        serde_json::from_slice(&output.stdout).map_err(|error| refuse(error.to_string()))
    }

    /// Names and identifiers of the workspace's packages.
    pub fn packages(&self) -> impl Iterator<Item = (&str, &str)> {
        self.packages
            .iter()
            .map(|package| (&package.name[..], &package.id[..]))
    }

    /// The name of the program to build: the only one of the package, or `chosen`.
    pub fn program(&self, folder: &Path, chosen: Option<&str>) -> Result<String, GuestError> {
        let manifest = folder.join("Cargo.toml");
        let refuse = |reason: &str| GuestError::NotAGuest {
            path: folder.to_owned(),
            reason: reason.to_owned(),
        };
        let package = self.packages.iter().find(|p| p.manifest_path == manifest);
        let Some(package) = package else {
            let mut guests: Vec<String> = self.packages.iter().map(Package::folder).collect();
            guests.sort();
            return Err(refuse(&format!(
                "it is a workspace, name the folder of one of its guests: {}",
                guests.join(", ")
            )));
        };
        let programs = package
            .targets
            .iter()
            .filter(|t| t.kind.iter().any(|kind| kind == "bin"));
        let mut names: Vec<&str> = programs.map(|target| target.name.as_str()).collect();
        if let Some(chosen) = chosen {
            names.retain(|name| *name == chosen);
        }
        match names[..] {
            [name] => Ok(name.to_owned()),
            [] => Err(refuse(match chosen {
                Some(_) => "the package has no program of that name",
                None => "the package has no program (src/main.rs)",
            })),
            _ => Err(GuestError::SeveralPrograms {
                path: folder.to_owned(),
                names: names.into_iter().map(String::from).collect(),
            }),
        }
    }
}

/// The configuration of the guest in `folder`; RV32IM with input and output if it has no `openvm.toml`, as in
/// cargo-openvm.
///
/// # Errors
/// If the file cannot be read or does not parse.
pub fn config_of(folder: &Path) -> Result<SdkVmConfig, GuestError> {
    let path = folder.join(CONFIG_FILE);
    if !path.exists() {
        return Ok(SdkVmConfig::riscv32());
    }
    let text = files::read_config(&path);
    let parsed = text.and_then(|text| files::config_from_text(&text));
    match parsed {
        Ok(parsed) => Ok(parsed.config.app_vm_config),
        Err(error) => Err(GuestError::Config {
            path,
            reason: match error {
                SdkError::Config(reason) | SdkError::File { reason, .. } => reason,
                other => other.to_string(),
            },
        }),
    }
}
