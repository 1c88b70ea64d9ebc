//! Verification by OpenVM's own verifier, which needs keys and commitments and no device, and the
//! checks of keys that OpenVM's verifier leaves to its caller.

use openvm_circuit::{arch::ContinuationVmProof, system::memory::dimensions::MemoryDimensions};
use openvm_continuations::CommitBytes;
use openvm_recursion_circuit::utils::poseidon2_hash_slice;
use openvm_sdk::{keygen::AppVerifyingKey, prover::verify_app_proof};
use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey, p3_field::PrimeField32, proof::Proof, StarkEngine,
};
use openvm_verify_stark_host::{
    verify_vm_stark_proof_decoded,
    vk::{VerificationBaseline, VmStarkVerifyingKey},
    VmStarkProof,
};
use serde::Serialize;

use crate::{
    engine::CpuEngine,
    error::{guard, SdkError, Stage},
    prelude::{Digest, F, SC},
    verifying_key::{check_against_baseline, check_key},
};

/// The statement of a proof that was verified: an execution of the program `app_exe_commit` on the
/// virtual machine `app_vm_commit` ended with exit code 0 and revealed `public_values`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Verified {
    /// The commitment to the program: its code, its initial memory and its entry point. It depends on
    /// neither extensions nor security parameters.
    pub app_exe_commit: CommitBytes,
    /// The commitment to the virtual machine: extensions and parameters of the application's circuit,
    /// of the leaves and of the internal-for-leaf nodes. Absent for an application proof that was
    /// verified without a baseline.
    pub app_vm_commit: Option<CommitBytes>,
    /// The bytes that the guest revealed.
    #[serde(serialize_with = "hexadecimal")]
    pub public_values: Vec<u8>,
    /// Bits of security of the circuit whose key was given. The circuits below it are fixed by
    /// `app_vm_commit`.
    pub security_bits: f64,
}

fn hexadecimal<S: serde::Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    serializer.serialize_str(&format!("0x{digits}"))
}

/// Verifies an aggregated proof with OpenVM's own verifier. The key's contents are compared with its
/// hash, and the hash with that of the baseline, so a baseline that the caller made is all that has
/// to be trusted.
///
/// Keys of fewer than `min_security_bits` are refused; usually
/// [`MIN_SECURITY_BITS`](crate::MIN_SECURITY_BITS).
///
/// # Errors
/// [`SdkError::Key`], [`SdkError::Insecure`] or [`SdkError::Rejected`], with the first difference.
pub fn verify(
    agg_vk: &MultiStarkVerifyingKey<SC>,
    baseline: &VerificationBaseline,
    proof: &VmStarkProof,
    min_security_bits: f64,
) -> Result<Verified, SdkError> {
    let what = "the aggregation verifying key";
    check_against_baseline(
        what,
        agg_vk,
        &baseline.internal_recursive_vk_commit.vk_pre_hash,
    )?;
    let security_bits = check_key(what, agg_vk, min_security_bits)?;
    check_proof(agg_vk, baseline, proof)?;
    Ok(Verified {
        app_exe_commit: baseline.app_exe_commit.into(),
        app_vm_commit: Some(app_vm_commit(baseline)),
        public_values: public_values(proof)?,
        security_bits,
    })
}

/// Verifies an aggregated proof with a key and a baseline that this process made.
///
/// # Errors
/// [`SdkError::Rejected`], with the first difference.
pub(crate) fn check_proof(
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

/// Verifies a proof with OpenVM's verifier under a key that this process made. Its public values are not looked at.
///
/// # Errors
/// The verifier's reason, in words.
pub(crate) fn accepts(vk: &MultiStarkVerifyingKey<SC>, proof: &Proof<SC>) -> Result<(), String> {
    guard(Stage::Verify, || {
        CpuEngine::new(vk.inner.params.clone()).verify(vk, proof)
    })
    .map_err(|error| error.to_string())?
    .map_err(|error| error.to_string())
}

/// Verifies the proofs of all segments with OpenVM's own verifier. The key's contents are compared
/// with its hash. With a baseline, the hash of the key and the commitment to the program are compared
/// with it; without one the key is taken as the caller's own. `expected_exe_commit` is compared in
/// both cases.
///
/// Keys of fewer than `min_security_bits` are refused; usually
/// [`MIN_SECURITY_BITS`](crate::MIN_SECURITY_BITS).
///
/// # Errors
/// [`SdkError::Key`], [`SdkError::Insecure`] or [`SdkError::AppRejected`], with the first difference.
pub fn verify_app(
    vk: &AppVerifyingKey,
    proof: &ContinuationVmProof<SC>,
    expected_exe_commit: Option<Digest>,
    baseline: Option<&VerificationBaseline>,
    min_security_bits: f64,
) -> Result<Verified, SdkError> {
    let what = "the application's verifying key";
    if let Some(baseline) = baseline {
        check_against_baseline(what, &vk.vk, &baseline.app_vk_commit.vk_pre_hash)?;
        let shape = |memory: &MemoryDimensions, values: usize| {
            (memory.addr_space_height, memory.address_height, values)
        };
        if shape(&vk.memory_dimensions, vk.num_user_pvs)
            != shape(&baseline.memory_dimensions, baseline.num_user_pvs)
        {
            return Err(SdkError::Key {
                what,
                reason: "its memory or its number of public values is not the baseline's".into(),
            });
        }
    }
    let security_bits = check_key(what, &vk.vk, min_security_bits)?;
    let commit = guard(Stage::Verify, || verify_app_proof::<CpuEngine>(vk, proof))?
        .map_err(|error| SdkError::AppRejected(error.to_string()))?;
    let of_baseline = baseline.map(|baseline| baseline.app_exe_commit);
    for expected in [expected_exe_commit, of_baseline].into_iter().flatten() {
        if expected != commit {
            return Err(SdkError::AppRejected(format!(
                "it is of the executable {}, expected is {}",
                CommitBytes::from(commit),
                CommitBytes::from(expected)
            )));
        }
    }
    Ok(Verified {
        app_exe_commit: commit.into(),
        app_vm_commit: baseline.map(app_vm_commit),
        public_values: bytes(&proof.user_public_values.public_values)?,
        security_bits,
    })
}

/// The commitment to the virtual machine of a baseline: a hash of the commitments to the verifying
/// keys of the application, the leaves and the internal-for-leaf nodes, as OpenVM's SDK computes it.
pub fn app_vm_commit(baseline: &VerificationBaseline) -> CommitBytes {
    let commits = [
        &baseline.app_vk_commit,
        &baseline.leaf_vk_commit,
        &baseline.internal_for_leaf_vk_commit,
    ];
    let parts: Vec<F> = commits
        .iter()
        .flat_map(|commit| commit.cached_commit.into_iter().chain(commit.vk_pre_hash))
        .collect();
    poseidon2_hash_slice(&parts).0.into()
}

/// The bytes that the guest revealed.
///
/// # Errors
/// [`SdkError::Bytes`] if a public value is no byte.
pub fn public_values(proof: &VmStarkProof) -> Result<Vec<u8>, SdkError> {
    bytes(&proof.user_pvs_proof.public_values)
}

fn bytes(values: &[F]) -> Result<Vec<u8>, SdkError> {
    let byte = |x: &F| u8::try_from(x.as_canonical_u32());
    let bytes: Result<_, _> = values.iter().map(byte).collect();
    bytes.map_err(|_| SdkError::Bytes {
        what: "the guest's public values",
        reason: "one of them is above 255".into(),
    })
}

#[cfg(test)]
mod tests {
    use openvm_stark_backend::p3_field::PrimeCharacteristicRing;

    use super::*;

    #[test]
    fn a_public_value_that_is_no_byte_is_an_error() {
        let values = [0, 255].map(F::from_u32);
        assert_eq!(bytes(&values).expect("bytes"), [0, 255]);
        for above in [256, 511, F::ORDER_U32 - 1] {
            let error = bytes(&[F::from_u32(above)]).expect_err("no byte");
            assert!(error.to_string().contains("above 255"), "{error}");
        }
    }
}
