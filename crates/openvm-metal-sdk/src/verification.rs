//! Verification by OpenVM's own verifier, which needs keys and commitments and no device.

use openvm_circuit::arch::ContinuationVmProof;
use openvm_continuations::CommitBytes;
use openvm_sdk::{keygen::AppVerifyingKey, prover::verify_app_proof};
use openvm_stark_backend::{keygen::types::MultiStarkVerifyingKey, p3_field::PrimeField32};
use openvm_verify_stark_host::{
    verify_vm_stark_proof_decoded,
    vk::{VerificationBaseline, VmStarkVerifyingKey},
    VmStarkProof,
};

use crate::{
    engine::CpuEngine,
    error::{guard, SdkError, Stage},
    prelude::{Digest, SC},
};

/// Verifies an aggregated proof with OpenVM's own verifier.
///
/// # Errors
/// [`SdkError::Rejected`], with what does not fit.
pub fn verify(
    agg_vk: &MultiStarkVerifyingKey<SC>,
    baseline: &VerificationBaseline,
    proof: &VmStarkProof,
) -> Result<(), SdkError> {
    let vk = VmStarkVerifyingKey {
        mvk: agg_vk.clone(),
        baseline: baseline.clone(),
    };
    guard(Stage::Verify, || verify_vm_stark_proof_decoded(&vk, proof))?
        .map_err(|error| SdkError::Rejected(Box::new(error)))
}

/// Verifies the proofs of all segments with OpenVM's own verifier, and that the executable is the expected
/// one if a commitment is given.
///
/// # Errors
/// [`SdkError::AppRejected`], with what does not fit.
pub fn verify_app(
    vk: &AppVerifyingKey,
    proof: &ContinuationVmProof<SC>,
    expected_exe_commit: Option<Digest>,
) -> Result<(), SdkError> {
    let commit = guard(Stage::Verify, || verify_app_proof::<CpuEngine>(vk, proof))?
        .map_err(|error| SdkError::AppRejected(error.to_string()))?;
    match expected_exe_commit {
        Some(expected) if expected != commit => Err(SdkError::AppRejected(format!(
            "it is of the executable {}, expected is {}",
            CommitBytes::from(commit),
            CommitBytes::from(expected)
        ))),
        _ => Ok(()),
    }
}

/// What the guest revealed, as bytes.
pub fn public_values(proof: &VmStarkProof) -> Vec<u8> {
    let values = &proof.user_pvs_proof.public_values;
    values.iter().map(|x| x.as_canonical_u32() as u8).collect()
}
