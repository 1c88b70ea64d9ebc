//! Aggregated proofs: OpenVM's versioned JSON.

use openvm_circuit::system::memory::merkle::public_values::UserPublicValuesProof;
use openvm_metal_verify::StarkProof;
use openvm_sdk::types::VersionedVmStarkProof;
use openvm_verify_stark_host::{deferral::DeferralMerkleProofs, VmStarkProof};

use super::to_json;

/// Decodes a proof. Its version is compared, and so are its bytes with the encoding of what they hold: OpenVM's
/// conversion looks at neither.
///
/// # Errors
/// What is wrong with the bytes.
pub(super) fn decode(bytes: &[u8]) -> Result<VmStarkProof, String> {
    let proof = StarkProof::decode(bytes)?;
    let values = proof.user_pvs_proof;
    Ok(VmStarkProof {
        inner: proof.inner,
        user_pvs_proof: UserPublicValuesProof {
            proof: values.proof,
            public_values: values.public_values,
            public_values_commit: values.public_values_commit,
        },
        deferral_merkle_proofs: proof
            .deferral_merkle_proofs
            .map(|paths| DeferralMerkleProofs {
                initial_merkle_proof: paths.initial_merkle_proof,
                final_merkle_proof: paths.final_merkle_proof,
            }),
    })
}

pub(super) fn encode(proof: &VmStarkProof) -> Result<Vec<u8>, String> {
    to_json(&versioned(proof)?)
}

pub(super) fn versioned(proof: &VmStarkProof) -> Result<VersionedVmStarkProof, String> {
    VersionedVmStarkProof::new(proof.clone()).map_err(|error| error.to_string())
}
