//! `EvmError`: everything that can stop a proof for the EVM from being made or verified.

use std::path::PathBuf;

use openvm_metal_sdk::{catch_panic, is_lack_of_memory, SdkError};

/// Errors of parameters, keys, proofs and contracts for the EVM. Sizes are in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EvmError {
    /// An error of the SDK: a file that cannot be used or written, a root proof that is not valid, among others.
    #[error(transparent)]
    Sdk(#[from] SdkError),
    /// A file of KZG parameters that is not there.
    #[error(
        "{}: no KZG parameters for 2^{k} rows. Those of the ceremony come from \
         `cargo openvm setup --evm`; for tests `openvm-metal setup --evm --unsafe-test-params` makes its own", path.display()
    )]
    MissingParams { path: PathBuf, k: u32 },
    /// A file that holds no KZG parameters of its size.
    #[error("{}: not usable as KZG parameters: {reason}", path.display())]
    Params { path: PathBuf, reason: String },
    /// Parameters with a public secret under the name of those of a ceremony.
    #[error(
        "{}: the secret of these KZG parameters is public, so that proofs can be FORGED. \
         --unsafe-test-params makes its own, in files of another name", path.display()
    )]
    PublicSecret { path: PathBuf },
    /// Keys that were made with other KZG parameters, or two files of parameters of different secrets.
    #[error("{}: {made_with}, and not with those of {}", keys.display(), params.display())]
    OtherParams {
        keys: PathBuf,
        params: PathBuf,
        made_with: &'static str,
    },
    /// A root proof of other heights than the circuit is made for.
    #[error("the root proof has other trace heights than the circuit is made for: {0}")]
    Heights(String),
    /// Too little memory for the work.
    #[error(
        "{what} needs about {} GiB of memory, {} GiB are free. Close other programs, or take a machine with more memory",
        needed.div_ceil(1 << 30), free >> 30
    )]
    Memory {
        what: &'static str,
        needed: u64,
        free: u64,
    },
    /// Too little room on a disk.
    #[error(
        "{}: {what} take {} GiB, the disk has room for {}", folder.display(), needed.div_ceil(1 << 30), free >> 30
    )]
    Disk {
        folder: PathBuf,
        what: &'static str,
        needed: u64,
        free: u64,
    },
    /// No Solidity compiler of the version that the contract is written for.
    #[error(
        "{found}. The contract is compiled by solc {wanted}: install it, or make it from the npm package \
         (docs/guide/evm.md), and add its folder to PATH"
    )]
    Solc { found: String, wanted: &'static str },
    /// The contract did not accept the proof.
    #[error("the contract rejects the proof: {0}")]
    Rejected(String),
    /// Parameters with a public secret where proofs have to mean something.
    #[error("{0}: the secret of the KZG parameters is public, so that proofs can be FORGED; --allow-insecure accepts them")]
    Insecure(String),
    /// A processor without instructions of halo2's assembly.
    #[error("this processor has no ADX or BMI2, which the arithmetic of halo2 is compiled for: take one from 2015 or later")]
    Processor,
    /// Memory has ended.
    #[error("memory ended in {0}")]
    OutOfMemory(&'static str),
    /// A panic of OpenVM's libraries.
    #[error("{stage} failed in a library: {message}")]
    Panicked {
        stage: &'static str,
        message: String,
    },
}

/// Runs work of libraries that panic, and makes an error of a panic.
pub(crate) fn guard<T>(stage: &'static str, f: impl FnOnce() -> T) -> Result<T, EvmError> {
    catch_panic(f).map_err(|message| match is_lack_of_memory(&message) {
        true => EvmError::OutOfMemory(stage),
        false => EvmError::Panicked { stage, message },
    })
}
