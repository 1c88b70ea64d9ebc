//! Files in cargo-openvm's formats: executables, keys and proofs.
//!
//! Executables, keys and application proofs are openvm-sdk's `bitcode`; aggregated proofs are its versioned
//! JSON with hexadecimal bytes, commitments and baselines its JSON. Every error names the file.

use std::path::Path;

use openvm_circuit::arch::{instructions::exe::VmExe, ContinuationVmProof};
use openvm_sdk::{
    fs,
    keygen::{AggProvingKey, AppProvingKey, AppVerifyingKey},
    types::{AppExecutionCommit, VerificationBaselineJson, VersionedVmStarkProof},
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::keygen::types::MultiStarkVerifyingKey;
use openvm_verify_stark_host::{vk::VerificationBaseline, VmStarkProof};
use serde::{de::DeserializeOwned, Serialize};

use crate::{
    error::SdkError,
    prelude::{F, SC},
};

fn bad(path: &Path, what: &'static str) -> impl FnOnce(String) -> SdkError {
    let path = path.to_owned();
    move |reason| SdkError::File { path, what, reason }
}

fn read<T: DeserializeOwned>(path: &Path, what: &'static str) -> Result<T, SdkError> {
    fs::read_object_from_file(path).map_err(|error| bad(path, what)(error.to_string()))
}

fn write<T: Serialize>(path: &Path, what: &'static str, value: &T) -> Result<(), SdkError> {
    fs::write_object_to_file(path, value).map_err(|error| bad(path, what)(error.to_string()))
}

fn read_json<T: DeserializeOwned>(path: &Path, what: &'static str) -> Result<T, SdkError> {
    fs::read_from_file_json(path).map_err(|error| bad(path, what)(error.to_string()))
}

fn write_json<T: Serialize>(path: &Path, what: &'static str, value: &T) -> Result<(), SdkError> {
    fs::write_to_file_json(path, value).map_err(|error| bad(path, what)(error.to_string()))
}

/// Functions that read and write one kind of file.
macro_rules! file {
    ($read:ident, $write:ident, $with:ident / $to:ident, $type:ty, $what:literal) => {
        #[doc = concat!("Reads ", $what, ".")]
        ///
        /// # Errors
        /// [`SdkError::File`] if there is none, or it is damaged.
        pub fn $read(path: &Path) -> Result<$type, SdkError> {
            $with(path, $what)
        }

        #[doc = concat!("Writes ", $what, "; folders that are missing are made.")]
        ///
        /// # Errors
        /// [`SdkError::File`] if it cannot be written.
        pub fn $write(path: &Path, value: &$type) -> Result<(), SdkError> {
            $to(path, $what, value)
        }
    };
}

file!(read_exe, write_exe, read / write, VmExe<F>, "an executable");
file!(
    read_app_pk,
    write_app_pk,
    read / write,
    AppProvingKey<SdkVmConfig>,
    "an application proving key"
);
file!(
    read_app_vk,
    write_app_vk,
    read / write,
    AppVerifyingKey,
    "an application verifying key"
);
file!(
    read_agg_pk,
    write_agg_pk,
    read / write,
    AggProvingKey,
    "an aggregation proving key"
);
file!(
    read_agg_vk,
    write_agg_vk,
    read / write,
    MultiStarkVerifyingKey<SC>,
    "an aggregation verifying key"
);
file!(
    read_app_proof,
    write_app_proof,
    read / write,
    ContinuationVmProof<SC>,
    "an application proof"
);
file!(
    read_commit,
    write_commit,
    read_json / write_json,
    AppExecutionCommit,
    "a pair of commitments"
);

/// Reads an aggregated proof.
///
/// # Errors
/// [`SdkError::File`] if there is none, or it is damaged.
pub fn read_proof(path: &Path) -> Result<VmStarkProof, SdkError> {
    let what = "a proof";
    let versioned: VersionedVmStarkProof = read_json(path, what)?;
    VmStarkProof::try_from(versioned).map_err(|error| bad(path, what)(error.to_string()))
}

/// Writes an aggregated proof; folders that are missing are made.
///
/// # Errors
/// [`SdkError::File`] if it cannot be written.
pub fn write_proof(path: &Path, proof: &VmStarkProof) -> Result<(), SdkError> {
    let what = "a proof";
    let versioned = VersionedVmStarkProof::new(proof.clone())
        .map_err(|error| bad(path, what)(error.to_string()))?;
    write_json(path, what, &versioned)
}

/// Reads what a verifier must know of a program.
///
/// # Errors
/// [`SdkError::File`] if there is none, or it is damaged.
pub fn read_baseline(path: &Path) -> Result<VerificationBaseline, SdkError> {
    read_json::<VerificationBaselineJson>(path, "a verification baseline").map(Into::into)
}

/// Writes what a verifier must know of a program; folders that are missing are made.
///
/// # Errors
/// [`SdkError::File`] if it cannot be written.
pub fn write_baseline(path: &Path, baseline: &VerificationBaseline) -> Result<(), SdkError> {
    let json = VerificationBaselineJson::from(baseline.clone());
    write_json(path, "a verification baseline", &json)
}
