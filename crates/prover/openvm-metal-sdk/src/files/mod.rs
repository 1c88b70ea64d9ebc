//! Files in cargo-openvm's formats: executables, keys and proofs.
//!
//! Executables, keys and application proofs are openvm-sdk's `bitcode`; root proofs are OpenVM's encoding, aggregated proofs are its versioned
//! JSON with hexadecimal bytes, commitments and baselines its JSON. Every error names the file. What is written is whole or
//! not there.
//!
//! A file may come from anybody. Each kind has a `Kind` with the most bytes that are read of it; numbers in a file
//! are compared with what is there before anything is made of them, and keys with the hash that they name.

mod bounded;
mod circuit;
mod config;
mod exe;
mod folders;
mod found_config;
mod input;
mod keys;
mod proof;
mod repeated_keys;
mod root;

use std::{fs, path::Path, sync::Arc};

use openvm_circuit::arch::{instructions::exe::VmExe, ContinuationVmProof};
use openvm_sdk::{
    keygen::{AggPrefixProvingKey, AggProvingKey, AppProvingKey, AppVerifyingKey, RootProvingKey},
    types::{AppExecutionCommit, VerificationBaselineJson},
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::{
    keygen::types::{MultiStarkProvingKey, MultiStarkVerifyingKey},
    proof::Proof,
};
use openvm_verify_stark_host::{
    vk::{VerificationBaseline, VmStarkVerifyingKey},
    VmStarkProof,
};
use serde::{de::DeserializeOwned, Serialize};

use crate::{
    error::{catch_panic, SdkError},
    guest_elf::{decode_elf, GuestElf, MAX_ELF},
    prelude::{RootSC, F, SC},
    whole_file,
};

pub use self::{
    bounded::read_bounded,
    config::{config_from_text, ConfigText},
    folders::{
        find_agg_keys, internal_recursive_pk_path, internal_recursive_vk_path, kzg_params_path,
        AggKeyFiles, AGG_PREFIX_PK, APP_PK, APP_VK, INTERNAL_RECURSIVE_PK, INTERNAL_RECURSIVE_VK,
        ROOT_PK, ROOT_VK,
    },
    found_config::{config_places, found_config, stored_config, CONFIG_FILE},
    input::{input_from_json, read_input, value_from_hex},
};
pub use crate::whole_file::write as write_whole;

/// Most bytes of a configuration.
pub const MAX_CONFIG: u64 = 1 << 20;

/// One kind of file.
struct Kind<T> {
    /// The noun for messages.
    what: &'static str,
    /// Most bytes of a file.
    most: u64,
    /// The way to get such a file, for messages.
    remedy: &'static str,
    decode: fn(&[u8]) -> Result<T, String>,
    encode: fn(&T) -> Result<Vec<u8>, String>,
}

impl<T> Kind<T> {
    fn read(&self, path: &Path) -> Result<T, SdkError> {
        let bytes = read_bounded(path, self.what, self.most)?;
        self.decoded(&bytes).map_err(|reason| SdkError::File {
            path: path.to_owned(),
            what: self.what,
            reason,
        })
    }

    fn take(&self, bytes: &[u8]) -> Result<T, SdkError> {
        self.decoded(bytes).map_err(|reason| SdkError::Bytes {
            what: self.what,
            reason,
        })
    }

    fn decoded(&self, bytes: &[u8]) -> Result<T, String> {
        catch_panic(|| (self.decode)(bytes))
            .unwrap_or_else(|_| Err("its parts contradict each other".into()))
            .map_err(|reason| {
                let remedy = self.remedy;
                format!(
                    "it is damaged, cut off, of another version or something else ({reason}); {remedy}"
                )
            })
    }

    fn write(&self, path: &Path, value: &T) -> Result<(), SdkError> {
        let bytes = (self.encode)(value).map_err(|reason| SdkError::Bytes {
            what: self.what,
            reason,
        })?;
        write_bytes(path, self.what, &bytes)
    }
}

/// Writes a file, whole or not at all; folders that are missing are made.
///
/// # Errors
/// [`SdkError::Write`] if it cannot be written.
pub fn write_bytes(path: &Path, what: &'static str, bytes: &[u8]) -> Result<(), SdkError> {
    path.parent()
        .map_or(Ok(()), fs::create_dir_all)
        .and_then(|()| whole_file::write(path, bytes))
        .map_err(|source| SdkError::Write {
            path: path.to_owned(),
            what,
            source,
        })
}

fn bitcode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    bitcode::deserialize(bytes).map_err(|error| error.to_string())
}

fn to_bitcode<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
    bitcode::serialize(value).map_err(|error| error.to_string())
}

fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

fn to_json<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
    serde_json::to_vec_pretty(value).map_err(|error| error.to_string())
}

/// The bytes that a file of an executable or key would hold, to send them to another process.
///
/// # Errors
/// [`SdkError::Bytes`] if it has no such form.
pub fn to_bytes<T: Serialize>(what: &'static str, value: &T) -> Result<Vec<u8>, SdkError> {
    to_bitcode(value).map_err(|reason| SdkError::Bytes { what, reason })
}

/// Functions that read and write one kind of file.
macro_rules! file {
    (
        $read:ident, $from_bytes:ident, $write:ident, $type:ty, $what:literal, at most $most:expr,
        $decode:expr, $encode:expr, $remedy:literal
    ) => {
        #[doc = concat!("Reads ", $what, ".")]
        ///
        /// # Errors
        /// [`SdkError::File`] if there is none, it is too large, or it is damaged.
        pub fn $read(path: &Path) -> Result<$type, SdkError> {
            file!(@kind $type, $what, $most, $decode, $encode, $remedy).read(path)
        }

        #[doc = concat!("Takes ", $what, " from the bytes of such a file.")]
        ///
        /// # Errors
        /// [`SdkError::Bytes`] if they hold none.
        pub fn $from_bytes(bytes: &[u8]) -> Result<$type, SdkError> {
            file!(@kind $type, $what, $most, $decode, $encode, $remedy).take(bytes)
        }

        #[doc = concat!("Writes ", $what, "; folders that are missing are made.")]
        ///
        /// # Errors
        /// [`SdkError::Write`] if it cannot be written.
        pub fn $write(path: &Path, value: &$type) -> Result<(), SdkError> {
            file!(@kind $type, $what, $most, $decode, $encode, $remedy).write(path, value)
        }
    };
    (@kind $type:ty, $what:literal, $most:expr, $decode:expr, $encode:expr, $remedy:literal) => {
        Kind::<$type> {
            what: $what,
            most: $most,
            remedy: $remedy,
            decode: $decode,
            encode: $encode,
        }
    };
}

const MIB: u64 = 1 << 20;

file!(
    read_exe, exe_from_bytes, write_exe, VmExe<F>, "an executable", at most 512 * MIB,
    exe::decode, to_bitcode, "`openvm-metal build` makes one"
);
file!(
    read_app_pk, app_pk_from_bytes, write_app_pk, AppProvingKey<SdkVmConfig>,
    "an application proving key", at most 256 * MIB,
    keys::app_pk, to_bitcode, "`openvm-metal keygen` makes one"
);
file!(
    read_app_vk, app_vk_from_bytes, write_app_vk, AppVerifyingKey,
    "an application verifying key", at most 64 * MIB,
    keys::app_vk, to_bitcode, "`openvm-metal keygen` makes one"
);
file!(
    read_agg_pk, agg_pk_from_bytes, write_agg_pk, AggProvingKey,
    "an aggregation proving key", at most 256 * MIB,
    keys::agg_pk, to_bitcode, "`openvm-metal setup` makes one"
);
file!(
    read_agg_prefix_pk, agg_prefix_pk_from_bytes, write_agg_prefix_pk, AggPrefixProvingKey,
    "an aggregation prefix proving key", at most 256 * MIB,
    keys::agg_prefix_pk, to_bitcode, "`openvm-metal keygen` makes one"
);
file!(
    read_internal_recursive_pk, internal_recursive_pk_from_bytes, write_internal_recursive_pk,
    Arc<MultiStarkProvingKey<SC>>, "an internal-recursive proving key", at most 256 * MIB,
    keys::internal_recursive_pk, to_bitcode, "`openvm-metal setup` makes one"
);
file!(
    read_root_pk, root_pk_from_bytes, write_root_pk, RootProvingKey,
    "a root proving key", at most 256 * MIB,
    root::pk, to_bitcode, "`openvm-metal setup --root` makes one"
);
file!(
    read_root_vk, root_vk_from_bytes, write_root_vk, MultiStarkVerifyingKey<RootSC>,
    "a root verifying key", at most 64 * MIB,
    root::vk, to_bitcode, "`openvm-metal setup --root` and `prove root` make one"
);
file!(
    read_root_proof, root_proof_from_bytes, write_root_proof, Proof<RootSC>,
    "a root proof", at most 64 * MIB,
    root::decode, root::encode, "`openvm-metal prove root` makes one"
);
file!(
    read_agg_vk, agg_vk_from_bytes, write_agg_vk, MultiStarkVerifyingKey<SC>,
    "an aggregation verifying key", at most 64 * MIB,
    keys::agg_vk, to_bitcode, "`openvm-metal setup` makes one"
);
file!(
    read_stark_vk, stark_vk_from_bytes, write_stark_vk, VmStarkVerifyingKey,
    "a verifying key of a program", at most 64 * MIB,
    keys::stark_vk, to_bitcode, "`openvm-metal setup` and `commit` make what it consists of"
);
file!(
    read_app_proof, app_proof_from_bytes, write_app_proof, ContinuationVmProof<SC>,
    "an application proof", at most 1024 * MIB,
    bitcode, to_bitcode, "copy it again, or prove again"
);
file!(
    read_proof, proof_from_bytes, write_proof, VmStarkProof, "a proof", at most 64 * MIB,
    proof::decode, proof::encode, "copy it again, or prove again"
);
file!(
    read_commit, commit_from_bytes, write_commit, AppExecutionCommit,
    "a pair of commitments", at most MIB,
    json, to_json, "`openvm-metal commit` makes one"
);
file!(
    read_baseline, baseline_from_bytes, write_baseline, VerificationBaseline,
    "a verification baseline", at most MIB,
    |bytes| json::<VerificationBaselineJson>(bytes).map(Into::into),
    |baseline| to_json(&VerificationBaselineJson::from(baseline.clone())),
    "`openvm-metal commit` makes one"
);
file!(
    read_circuit_proof, circuit_proof_from_bytes, write_circuit_proof, Proof<SC>,
    "a proof of a circuit", at most 64 * MIB,
    circuit::decode_proof, circuit::encode_proof, "`openvm-metal circuit --out` makes one"
);
file!(
    read_circuit_vk, circuit_vk_from_bytes, write_circuit_vk, MultiStarkVerifyingKey<SC>,
    "a verifying key of a circuit", at most 64 * MIB,
    circuit::decode_key, circuit::encode_key, "`openvm-metal circuit --vk` makes one"
);

/// A JSON file with the bits of security of its parameters, which readers of OpenVM's format ignore.
#[derive(Serialize)]
struct WithSecurity<T> {
    #[serde(flatten)]
    value: T,
    security_bits: f64,
}

impl<T: Serialize> WithSecurity<T> {
    fn write(path: &Path, what: &'static str, value: T, bits: f64) -> Result<(), SdkError> {
        let security_bits = (bits * 10.0).round() / 10.0;
        let file = Self {
            value,
            security_bits,
        };
        let bytes = to_json(&file).map_err(|reason| SdkError::Bytes { what, reason })?;
        write_bytes(path, what, &bytes)
    }
}

/// [`write_proof`] with the bits of security of the proof's parameters in the file, for its readers: no
/// verifier believes them.
///
/// # Errors
/// [`SdkError::Write`] if it cannot be written.
pub fn write_proof_with_security(
    path: &Path,
    proof: &VmStarkProof,
    security_bits: f64,
) -> Result<(), SdkError> {
    let what = "a proof";
    let value = proof::versioned(proof).map_err(|reason| SdkError::Bytes { what, reason })?;
    WithSecurity::write(path, what, value, security_bits)
}

/// [`write_baseline`] with the bits of security of the circuits that it names in the file.
///
/// # Errors
/// [`SdkError::Write`] if it cannot be written.
pub fn write_baseline_with_security(
    path: &Path,
    baseline: &VerificationBaseline,
    security_bits: f64,
) -> Result<(), SdkError> {
    let value = VerificationBaselineJson::from(baseline.clone());
    WithSecurity::write(path, "a verification baseline", value, security_bits)
}

/// [`write_commit`] with the bits of security of the virtual machine's circuits in the file.
///
/// # Errors
/// [`SdkError::Write`] if it cannot be written.
pub fn write_commit_with_security(
    path: &Path,
    commit: &AppExecutionCommit,
    security_bits: f64,
) -> Result<(), SdkError> {
    WithSecurity::write(path, "a pair of commitments", commit, security_bits)
}

/// The bits of security that a baseline or a pair of commitments says its circuits have: nothing if the
/// file says none, as those of cargo-openvm.
///
/// # Errors
/// [`SdkError::File`] if there is no such file, or it is no JSON.
pub fn read_security(path: &Path) -> Result<Option<f64>, SdkError> {
    #[derive(serde::Deserialize)]
    struct Security {
        security_bits: Option<f64>,
    }

    let what = "a file of commitments";
    let bytes = read_bounded(path, what, MIB)?;
    let found = json::<Security>(&bytes).map_err(|reason| SdkError::File {
        path: path.to_owned(),
        what,
        reason,
    })?;
    Ok(found.security_bits)
}

/// Reads the ELF of a guest.
///
/// # Errors
/// [`SdkError::File`] if there is none, it is too large, or no ELF that [`decode_elf`] takes.
pub fn read_elf(path: &Path) -> Result<GuestElf, SdkError> {
    let what = "the ELF of a guest";
    let bytes = read_bounded(path, what, MAX_ELF)?;
    decode_elf(&bytes).map_err(|error| SdkError::File {
        path: path.to_owned(),
        what,
        reason: match error {
            SdkError::Elf(reason) => format!("{reason}; `openvm-metal build` makes one"),
            other => other.to_string(),
        },
    })
}

/// Reads the text of a configuration.
///
/// # Errors
/// [`SdkError::File`] if there is none, it is too large, or no text.
pub fn read_config(path: &Path) -> Result<String, SdkError> {
    let what = "a configuration";
    String::from_utf8(read_bounded(path, what, MAX_CONFIG)?).map_err(|error| SdkError::File {
        path: path.to_owned(),
        what,
        reason: error.to_string(),
    })
}
