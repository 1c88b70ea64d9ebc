//! Verification, which needs keys and commitments and no device: of aggregated proofs by `openvm-metal-verify`, of segments by
//! OpenVM's SDK after the checks of keys that it leaves to its caller.

use openvm_circuit::{arch::ContinuationVmProof, system::memory::dimensions::MemoryDimensions};
use openvm_continuations::CommitBytes;
use openvm_metal_verify::{bytes, DeferralPaths, PublicValuesProof, StarkProof};
use openvm_sdk::keygen::AppVerifyingKey;
use openvm_stark_backend::keygen::types::MultiStarkVerifyingKey;
use openvm_verify_stark_host::{
    deferral::DeferralMerkleProofs,
    verify_vm_stark_proof_decoded, verify_vm_stark_proof_pvs,
    vk::{VerificationBaseline, VmStarkVerifyingKey},
    VmStarkProof,
};
use serde::Serialize;

use crate::{
    deferred_calls,
    error::{guard, SdkError, Stage},
    parallel_verification::verify_app_proof,
    prelude::{Digest, F, SC},
    verifying_key::{baseline_to_verify, check_against_baseline, check_key},
};

/// The statement of a proof that was verified: an execution of the program `app_exe_commit` on the
/// virtual machine `app_vm_commit` ended with exit code 0 and revealed `public_values`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Verified {
    /// The commitment to the program: its code, its initial memory and its entry point. Extensions do not change it, except deferral circuits,
    /// whose commitments are in the initial memory. Parameters do: code is committed with the stacked height and the code rate of the
    /// application's circuit, and the memory with the machine's layout.
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

/// Verifies an aggregated proof with OpenVM's own STARK verifier. The key's contents are compared with its
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
    let (security_bits, public_values) = openvm_metal_verify::verify(
        agg_vk,
        &baseline_to_verify(baseline),
        &proof_to_verify(proof),
        min_security_bits,
    )?;
    // OpenVM's own comparison of the statement, which has to agree.
    let vk = stark_vk(agg_vk, baseline);
    guard(Stage::Verify, || verify_vm_stark_proof_pvs(&vk, proof))?
        .map_err(|error| SdkError::Rejected(Box::new(error)))?;
    Ok(Verified {
        app_exe_commit: baseline.app_exe_commit.into(),
        app_vm_commit: Some(app_vm_commit(baseline)),
        public_values,
        security_bits,
    })
}

/// A proof of OpenVM's type as `openvm-metal-verify` takes it.
fn proof_to_verify(proof: &VmStarkProof) -> StarkProof {
    let values = &proof.user_pvs_proof;
    let deferral_paths = |paths: &DeferralMerkleProofs<F>| DeferralPaths {
        initial_merkle_proof: paths.initial_merkle_proof.clone(),
        final_merkle_proof: paths.final_merkle_proof.clone(),
    };
    StarkProof {
        inner: proof.inner.clone(),
        user_pvs_proof: PublicValuesProof {
            proof: values.proof.clone(),
            public_values: values.public_values.clone(),
            public_values_commit: values.public_values_commit,
        },
        deferral_merkle_proofs: proof.deferral_merkle_proofs.as_ref().map(deferral_paths),
    }
}

fn stark_vk(
    agg_vk: &MultiStarkVerifyingKey<SC>,
    baseline: &VerificationBaseline,
) -> VmStarkVerifyingKey {
    VmStarkVerifyingKey {
        mvk: agg_vk.clone(),
        baseline: baseline.clone(),
    }
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
    let vk = stark_vk(agg_vk, baseline);
    guard(Stage::Verify, || verify_vm_stark_proof_decoded(&vk, proof))?
        .map_err(|error| SdkError::Rejected(Box::new(error)))
}

/// Verifies the proofs of all segments with OpenVM's own verifier. The key's contents are compared
/// with its hash. With a baseline, the hash of the key and the commitment to the program are compared
/// with it; without one the key is taken as the caller's own. `expected_exe_commit` is compared in
/// both cases.
///
/// Keys of fewer than `min_security_bits` are refused; usually
/// [`MIN_SECURITY_BITS`](crate::MIN_SECURITY_BITS). Keys of machines with deferral circuits, and baselines that name the hook of such circuits, are
/// refused too: the proofs of segments say nothing about what the circuits computed, the aggregated proof does.
///
/// # Errors
/// [`SdkError::DeferredUnproved`], [`SdkError::Key`], [`SdkError::Insecure`] or [`SdkError::AppRejected`], with the first difference.
pub fn verify_app(
    vk: &AppVerifyingKey,
    proof: &ContinuationVmProof<SC>,
    expected_exe_commit: Option<Digest>,
    baseline: Option<&VerificationBaseline>,
    min_security_bits: f64,
) -> Result<Verified, SdkError> {
    let what = "the application's verifying key";
    deferred_calls::refuse(vk, baseline)?;
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
    let of_baseline = baseline.map(|baseline| baseline.app_exe_commit);
    let expected = [expected_exe_commit, of_baseline].into_iter().flatten();
    let verified = check_app_proof(vk, proof, expected, security_bits)?;
    Ok(Verified {
        app_vm_commit: baseline.map(app_vm_commit),
        ..verified
    })
}

/// Verifies the proofs of all segments with a key whose contents are known to have its hash, and compares the commitment to the program with those that
/// are expected. `security_bits` are the key's.
///
/// # Errors
/// [`SdkError::DeferredUnproved`], or [`SdkError::AppRejected`] with the first difference.
pub(crate) fn check_app_proof(
    vk: &AppVerifyingKey,
    proof: &ContinuationVmProof<SC>,
    expected_exe_commits: impl IntoIterator<Item = Digest>,
    security_bits: f64,
) -> Result<Verified, SdkError> {
    deferred_calls::refuse(vk, None)?;
    let commit = guard(Stage::Verify, || verify_app_proof(vk, proof))?
        .map_err(|error| SdkError::AppRejected(error.to_string()))?;
    for expected in expected_exe_commits {
        if expected != commit {
            return Err(SdkError::AppRejected(format!(
                "it is of the executable {}, expected is {}: another program, or the same under other parameters or another layout of the memory",
                CommitBytes::from(commit),
                CommitBytes::from(expected)
            )));
        }
    }
    Ok(Verified {
        app_exe_commit: commit.into(),
        app_vm_commit: None,
        public_values: bytes(&proof.user_public_values.public_values)?,
        security_bits,
    })
}

/// The commitment to the virtual machine of a baseline: a hash of the commitments to the verifying
/// keys of the application, the leaves and the internal-for-leaf nodes, as OpenVM's SDK computes it.
pub fn app_vm_commit(baseline: &VerificationBaseline) -> CommitBytes {
    baseline_to_verify(baseline).app_vm_commit().digest().into()
}

/// The bytes that the guest revealed.
///
/// # Errors
/// [`SdkError::Bytes`] if a public value is no byte.
pub fn public_values(proof: &VmStarkProof) -> Result<Vec<u8>, SdkError> {
    Ok(bytes(&proof.user_pvs_proof.public_values)?)
}
