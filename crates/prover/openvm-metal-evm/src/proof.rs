//! Files of proofs, in openvm-sdk's JSON.

use std::path::Path;

use openvm_metal_sdk::{files::read_bounded, SdkError};
use openvm_sdk::types::EvmProof;

use crate::error::EvmError;

/// Most bytes of a file: a program reveals at most 8 KiB, which the contract bounds.
const MAX_PROOF: u64 = 1 << 20;

/// Reads a proof.
///
/// # Errors
/// [`EvmError::Sdk`] for a file that cannot be read or is no proof.
pub fn read_proof(path: &Path) -> Result<EvmProof, EvmError> {
    const WHAT: &str = "a proof for the EVM, which `openvm-metal prove evm` writes";
    let bytes = read_bounded(path, WHAT, MAX_PROOF)?;
    serde_json::from_slice(&bytes).map_err(|error| {
        EvmError::Sdk(SdkError::File {
            path: path.to_owned(),
            what: WHAT,
            reason: error.to_string(),
        })
    })
}
