//! Files in cargo-openvm's formats: executables, keys and proofs.
//!
//! Executables, keys and application proofs are openvm-sdk's `bitcode`; aggregated proofs are its versioned
//! JSON with hexadecimal bytes, commitments and baselines its JSON. Every error names the file. What is written is whole or
//! not there.

use std::{
    fs::{self, File},
    path::Path,
};

use memmap2::Mmap;
use openvm_circuit::arch::{instructions::exe::VmExe, ContinuationVmProof};
use openvm_sdk::{
    keygen::{AggProvingKey, AppProvingKey, AppVerifyingKey},
    types::{AppExecutionCommit, VerificationBaselineJson, VersionedVmStarkProof},
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::keygen::types::MultiStarkVerifyingKey;
use openvm_verify_stark_host::{
    vk::{VerificationBaseline, VmStarkVerifyingKey},
    VmStarkProof,
};
use serde::{de::DeserializeOwned, Serialize};

use crate::{
    error::SdkError,
    prelude::{F, SC},
    whole_file,
};

fn bad(path: &Path, what: &'static str) -> impl FnOnce(String) -> SdkError {
    let path = path.to_owned();
    move |reason| SdkError::File { path, what, reason }
}

fn read<T: DeserializeOwned>(path: &Path, what: &'static str) -> Result<T, SdkError> {
    let bytes = fs::read(path).map_err(|error| bad(path, what)(error.to_string()))?;
    from_bytes(&bytes).map_err(bad(path, what))
}

/// [`read`] from the file's pages instead of a copy of them: keys have hundreds of megabytes.
fn read_mapped<T: DeserializeOwned>(path: &Path, what: &'static str) -> Result<T, SdkError> {
    let file = File::open(path).map_err(|error| bad(path, what)(error.to_string()))?;
    // SAFETY: the bytes are only decoded, which checks them, and the mapping ends with this function. Whoever changes a key's
    // file while it is read gets an error or another key, as with a copy; one who cuts it off ends this process.
    let bytes = unsafe { Mmap::map(&file) }.map_err(|error| bad(path, what)(error.to_string()))?;
    from_bytes(&bytes).map_err(bad(path, what))
}

fn from_bytes<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    bitcode::deserialize(bytes).map_err(no_format)
}

/// What a decoder's error means to the user.
fn no_format(error: impl std::fmt::Display) -> String {
    format!("it is damaged, cut off, of another version or something else ({error})")
}

/// The bytes that a file of an executable or key would hold, to send them to another process.
///
/// # Errors
/// [`SdkError::Bytes`] if it has no such form.
pub fn to_bytes<T: Serialize>(what: &'static str, value: &T) -> Result<Vec<u8>, SdkError> {
    bitcode::serialize(value).map_err(|error| SdkError::Bytes {
        what,
        reason: error.to_string(),
    })
}

fn read_bytes<T: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<T, SdkError> {
    from_bytes(bytes).map_err(|reason| SdkError::Bytes { what, reason })
}

/// An executable from [`to_bytes`].
///
/// # Errors
/// [`SdkError::Bytes`] if it is none.
pub fn exe_from_bytes(bytes: &[u8]) -> Result<VmExe<F>, SdkError> {
    read_bytes("an executable", bytes)
}

/// An application proving key from [`to_bytes`].
///
/// # Errors
/// [`SdkError::Bytes`] if it is none.
pub fn app_pk_from_bytes(bytes: &[u8]) -> Result<AppProvingKey<SdkVmConfig>, SdkError> {
    read_bytes("an application proving key", bytes)
}

/// An aggregation proving key from [`to_bytes`].
///
/// # Errors
/// [`SdkError::Bytes`] if it is none.
pub fn agg_pk_from_bytes(bytes: &[u8]) -> Result<AggProvingKey, SdkError> {
    read_bytes("an aggregation proving key", bytes)
}

fn write<T: Serialize>(path: &Path, what: &'static str, value: &T) -> Result<(), SdkError> {
    let bytes = bitcode::serialize(value).map_err(|error| bad(path, what)(error.to_string()))?;
    write_bytes(path, what, &bytes)
}

/// Makes folders that are missing.
fn write_bytes(path: &Path, what: &'static str, bytes: &[u8]) -> Result<(), SdkError> {
    let folder = path.parent().map_or(Ok(()), fs::create_dir_all);
    folder
        .and_then(|()| whole_file::write(path, bytes))
        .map_err(|source| SdkError::Write {
            path: path.to_owned(),
            what,
            source,
        })
}

fn read_json<T: DeserializeOwned>(path: &Path, what: &'static str) -> Result<T, SdkError> {
    let bytes = fs::read(path).map_err(|error| bad(path, what)(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| bad(path, what)(no_format(error)))
}

fn write_json<T: Serialize>(path: &Path, what: &'static str, value: &T) -> Result<(), SdkError> {
    let text = serde_json::to_vec_pretty(value);
    let text = text.map_err(|error| bad(path, what)(error.to_string()))?;
    write_bytes(path, what, &text)
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
        /// [`SdkError::Write`] if it cannot be written.
        pub fn $write(path: &Path, value: &$type) -> Result<(), SdkError> {
            $to(path, $what, value)
        }
    };
}

file!(read_exe, write_exe, read / write, VmExe<F>, "an executable");
file!(
    read_app_pk,
    write_app_pk,
    read_mapped / write,
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
    read_mapped / write,
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
    read_stark_vk,
    write_stark_vk,
    read / write,
    VmStarkVerifyingKey,
    "a verifying key of a program"
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
/// [`SdkError::Write`] if it cannot be written.
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
/// [`SdkError::Write`] if it cannot be written.
pub fn write_baseline(path: &Path, baseline: &VerificationBaseline) -> Result<(), SdkError> {
    let json = VerificationBaselineJson::from(baseline.clone());
    write_json(path, "a verification baseline", &json)
}
