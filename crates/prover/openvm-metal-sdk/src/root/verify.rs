//! Verification of root proofs by OpenVM's verifier. No device is needed.

use std::borrow::Borrow;

use openvm_continuations::circuit::root::{RootVerifierPvs, USER_PVS_COMMIT_AIR_ID};
use openvm_metal_verify::bytes;
use openvm_sdk::types::AppExecutionCommit;
use openvm_stark_backend::{keygen::types::MultiStarkVerifyingKey, proof::Proof, verifier};
use openvm_stark_sdk::config::baby_bear_bn254_poseidon2::default_transcript;
use openvm_verify_stark_host::pvs::VERIFIER_PVS_AIR_ID;

use crate::{
    error::{guard, SdkError, Stage},
    prelude::{RootSC, F},
    verification::Verified,
    verifying_key::check_root_key,
};

/// Verifies a root proof with OpenVM's own STARK verifier. The key's contents are compared with its hash: `vk` has to come from
/// [`MetalSdk::root_keys`](crate::MetalSdk), or from somebody who is trusted, for a key says what a proof with it means. With
/// `expected` its commitments are compared with those of the proof.
///
/// Keys of fewer than `min_security_bits` are refused; usually [`MIN_SECURITY_BITS`](crate::MIN_SECURITY_BITS).
///
/// # Errors
/// [`SdkError::Key`], [`SdkError::Insecure`] or [`SdkError::RootRejected`], with the first difference.
pub fn verify_root(
    vk: &MultiStarkVerifyingKey<RootSC>,
    proof: &Proof<RootSC>,
    expected: Option<&AppExecutionCommit>,
    min_security_bits: f64,
) -> Result<Verified, SdkError> {
    let rejected = |reason: String| Err(SdkError::RootRejected(reason));
    let security_bits = check_root_key("the root verifying key", vk, min_security_bits)?;
    let config = RootSC::default_from_params(vk.inner.params.clone());
    let verified = guard(Stage::Verify, || {
        verifier::verify(&config, vk, proof, &mut default_transcript())
    })?;
    if let Err(error) = verified {
        return rejected(error.to_string());
    }
    let of_air = |air: usize| proof.public_values.get(air).map(Vec::as_slice);
    let statement =
        of_air(VERIFIER_PVS_AIR_ID).filter(|v| v.len() == RootVerifierPvs::<u8>::width());
    let (Some(statement), Some(values)) = (statement, of_air(USER_PVS_COMMIT_AIR_ID)) else {
        return rejected("the key is not that of a root circuit: public values are missing".into());
    };
    let statement: &RootVerifierPvs<F> = statement.borrow();
    let commit = AppExecutionCommit {
        app_exe_commit: statement.app_exe_commit.into(),
        app_vm_commit: statement.app_vm_commit.into(),
    };
    if let Some(expected) = expected {
        for (what, found, expected) in [
            (
                "executable",
                &commit.app_exe_commit,
                &expected.app_exe_commit,
            ),
            (
                "virtual machine",
                &commit.app_vm_commit,
                &expected.app_vm_commit,
            ),
        ] {
            if found != expected {
                return rejected(format!(
                    "it is of the {what} {found}, expected is {expected}"
                ));
            }
        }
    }
    Ok(Verified {
        app_exe_commit: commit.app_exe_commit,
        app_vm_commit: Some(commit.app_vm_commit),
        public_values: bytes(values)?,
        security_bits,
    })
}
