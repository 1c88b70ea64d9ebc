//! Aggregated proofs: OpenVM's versioned JSON.

use openvm_sdk::{types::VersionedVmStarkProof, OPENVM_VERSION};
use openvm_verify_stark_host::VmStarkProof;

use super::{json, to_json};
use crate::encoding;

/// Decodes a proof. Its version is compared, and so are its bytes with the encoding of what they hold: OpenVM's
/// conversion looks at neither.
///
/// # Errors
/// What is wrong with the bytes.
pub(super) fn decode(bytes: &[u8]) -> Result<VmStarkProof, String> {
    let file: VersionedVmStarkProof = json(bytes)?;
    let version = format!("v{OPENVM_VERSION}");
    if file.version != version {
        let found: String = file.version.chars().take(20).collect();
        return Err(format!(
            "its version is {found:?}, this program reads {version:?}"
        ));
    }
    encoding::check(&file.proof).map_err(|error| error.to_string())?;
    let proof = VmStarkProof::try_from(file.clone()).map_err(|error| error.to_string())?;
    let again = versioned(&proof)?;
    for (name, is_equal) in [
        ("proof", again.proof == file.proof),
        (
            "user_pvs_proof",
            again.user_pvs_proof == file.user_pvs_proof,
        ),
        (
            "deferral_merkle_proofs",
            again.deferral_merkle_proofs == file.deferral_merkle_proofs,
        ),
    ] {
        if !is_equal {
            return Err(format!("`{name}` has more bytes than a proof, or others"));
        }
    }
    Ok(proof)
}

pub(super) fn encode(proof: &VmStarkProof) -> Result<Vec<u8>, String> {
    to_json(&versioned(proof)?)
}

pub(super) fn versioned(proof: &VmStarkProof) -> Result<VersionedVmStarkProof, String> {
    VersionedVmStarkProof::new(proof.clone()).map_err(|error| error.to_string())
}
