//! Settings that decide an executable, besides the sources: kept with it, so that two builds that differ can be compared.

use std::{ffi::OsString, fs, io, path::Path};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::error::GuestError;
use crate::whole_file;

/// The settings of one build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BuildRecord {
    /// The compiler, as `rustc -V` prints it.
    pub rustc: String,
    /// Cargo's profile.
    pub profile: String,
    /// Variables that change cargo's profiles, `CARGO_PROFILE_*`, as `NAME=VALUE`.
    pub profile_variables: Vec<String>,
    /// Features of the package.
    pub features: Vec<String>,
    /// Further arguments of `cargo build`.
    pub cargo_args: Vec<String>,
    /// The user's flags of rustc.
    pub rustflags: Vec<String>,
    /// SHA-256 of `Cargo.lock`, hexadecimal.
    pub lock_sha256: String,
}

impl BuildRecord {
    /// The hash of a workspace's `Cargo.lock`.
    pub(super) fn hash_of_lock(workspace: &Path) -> Result<String, GuestError> {
        let path = workspace.join("Cargo.lock");
        let bytes = fs::read(&path).map_err(GuestError::io(&path))?;
        let digest = Sha256::digest(bytes);
        Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The variables of this process that change cargo's profiles, in order.
    pub(super) fn variables_of_profiles() -> Vec<String> {
        let text = |text: OsString| text.to_string_lossy().into_owned();
        let mut variables: Vec<String> = std::env::vars_os()
            .map(|(name, value)| (text(name), text(value)))
            .filter(|(name, _)| name.starts_with("CARGO_PROFILE_"))
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        variables.sort_unstable();
        variables
    }

    /// Reads a record.
    ///
    /// # Errors
    /// A file that cannot be read or is no record.
    pub fn read(path: &Path) -> Result<Self, GuestError> {
        let bytes = fs::read(path).map_err(GuestError::io(path))?;
        serde_json::from_slice(&bytes)
            .map_err(|error| GuestError::io(path)(io::Error::other(error)))
    }

    /// Writes the record.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), GuestError> {
        let mut text = serde_json::to_string_pretty(self)
            .map_err(|error| GuestError::io(path)(io::Error::other(error)))?;
        text.push('\n');
        whole_file::replace(path, text.as_bytes()).map_err(GuestError::io(path))
    }

    /// The settings in which two builds differ, a line each: the name, `ours`, and `theirs`.
    pub fn differences(&self, theirs: &Self) -> Vec<String> {
        let list = |list: &[String]| match list.is_empty() {
            true => "none".to_owned(),
            false => list.join(" "),
        };
        let settings = [
            ("rustc", self.rustc.clone(), theirs.rustc.clone()),
            ("profile", self.profile.clone(), theirs.profile.clone()),
            (
                "variables of the profile",
                list(&self.profile_variables),
                list(&theirs.profile_variables),
            ),
            ("features", list(&self.features), list(&theirs.features)),
            (
                "arguments of cargo",
                list(&self.cargo_args),
                list(&theirs.cargo_args),
            ),
            (
                "flags of rustc",
                list(&self.rustflags),
                list(&theirs.rustflags),
            ),
            (
                "SHA-256 of Cargo.lock",
                self.lock_sha256.clone(),
                theirs.lock_sha256.clone(),
            ),
        ];
        settings
            .into_iter()
            .filter(|(_, ours, theirs)| ours != theirs)
            .map(|(name, ours, theirs)| format!("{name}: {ours} here, {theirs} there"))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_compared() {
        let ours = BuildRecord {
            rustc: "rustc 1.95.0".into(),
            profile: "release".into(),
            ..BuildRecord::default()
        };
        assert_eq!(ours.differences(&ours), [""; 0]);
        let theirs = BuildRecord {
            rustc: "rustc 1.94.0".into(),
            profile_variables: vec!["CARGO_PROFILE_RELEASE_LTO=fat".into()],
            rustflags: vec!["--cfg".into(), "tuned".into()],
            ..ours.clone()
        };
        assert_eq!(
            ours.differences(&theirs),
            [
                "rustc: rustc 1.95.0 here, rustc 1.94.0 there",
                "variables of the profile: none here, CARGO_PROFILE_RELEASE_LTO=fat there",
                "flags of rustc: none here, --cfg tuned there"
            ]
        );
        let text = serde_json::to_string(&theirs).expect("JSON");
        assert_eq!(
            serde_json::from_str::<BuildRecord>(&text).expect("a record"),
            theirs
        );
    }
}
