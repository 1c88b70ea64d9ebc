//! Checks of verifying keys: those of `openvm-metal-verify`, with this SDK's errors and OpenVM's types.

use openvm_continuations::CommitBytes;
use openvm_metal_verify::{Baseline, CircuitCommit, MemoryDimensions};
use openvm_stark_backend::{
    hasher::MerkleHasher,
    keygen::types::{MultiStarkProvingKey, MultiStarkVerifyingKey},
    StarkProtocolConfig,
};
use openvm_verify_stark_host::{pvs::VkCommit, vk::VerificationBaseline};

pub use openvm_metal_verify::{security_bits, MIN_SECURITY_BITS, OPENVM_CIRCUIT};

use crate::{
    error::SdkError,
    prelude::{Digest, RootSC, F, SC},
};

/// A baseline of OpenVM's type as `openvm-metal-verify` takes it.
pub(crate) fn baseline_to_verify(baseline: &VerificationBaseline) -> Baseline {
    let circuit = |commit: &VkCommit<F>| CircuitCommit {
        cached_commit: commit.cached_commit,
        vk_pre_hash: commit.vk_pre_hash,
    };
    Baseline {
        app_exe_commit: baseline.app_exe_commit,
        memory_dimensions: MemoryDimensions {
            addr_space_height: baseline.memory_dimensions.addr_space_height,
            address_height: baseline.memory_dimensions.address_height,
        },
        num_user_pvs: baseline.num_user_pvs,
        app_vk_commit: circuit(&baseline.app_vk_commit),
        leaf_vk_commit: circuit(&baseline.leaf_vk_commit),
        internal_for_leaf_vk_commit: circuit(&baseline.internal_for_leaf_vk_commit),
        internal_recursive_vk_commit: circuit(&baseline.internal_recursive_vk_commit),
        expected_def_hook_commit: baseline.expected_def_hook_commit,
    }
}

/// True if a baseline names [`OPENVM_CIRCUIT`], and memory and public values of OpenVM's default shape:
/// [`Baseline::is_openvm_circuit`].
pub fn is_openvm_circuit(baseline: &VerificationBaseline) -> bool {
    baseline_to_verify(baseline).is_openvm_circuit()
}

/// The hash that a key names, in the form of OpenVM's commitments.
pub fn key_hash(vk: &MultiStarkVerifyingKey<SC>) -> CommitBytes {
    vk.pre_hash.into()
}

/// Compares the contents of a verifying key with the hash that it names, and its parameters with
/// `min_security_bits`. Returns the bits of security.
///
/// # Errors
/// [`SdkError::Key`] if the contents have another hash or parameters that no circuit has,
/// [`SdkError::Insecure`] if the parameters give fewer bits. Both name the key as `what`.
pub fn check_key(
    what: &'static str,
    vk: &MultiStarkVerifyingKey<SC>,
    min_security_bits: f64,
) -> Result<f64, SdkError> {
    Ok(openvm_metal_verify::check_key(what, vk, min_security_bits)?)
}

/// Compares the contents of a root verifying key with the hash that it names, and its parameters with `min_security_bits`. Returns the
/// bits of security.
///
/// # Errors
/// [`SdkError::Key`] if the contents have another hash or parameters that no circuit has, [`SdkError::Insecure`] if the parameters
/// give fewer bits. Both name the key as `what`.
pub(crate) fn check_root_key(
    what: &'static str,
    vk: &MultiStarkVerifyingKey<RootSC>,
    min_security_bits: f64,
) -> Result<f64, SdkError> {
    let config = RootSC::default_from_params(vk.inner.params.clone());
    let hash = |contents: &[F]| config.hasher().hash_slice(contents);
    Ok(openvm_metal_verify::check_key_of(
        what,
        vk,
        hash,
        min_security_bits,
    )?)
}

/// Refuses parameters that give fewer than `min` bits of security.
pub(crate) fn require(what: &'static str, bits: f64, min: f64) -> Result<(), SdkError> {
    Ok(openvm_metal_verify::require(what, bits, min)?)
}

/// Compares the hash of a key with the hash that a baseline names for it.
///
/// # Errors
/// [`SdkError::Key`] if they differ.
pub(crate) fn check_against_baseline(
    what: &'static str,
    vk: &MultiStarkVerifyingKey<SC>,
    expected: &Digest,
) -> Result<(), SdkError> {
    Ok(openvm_metal_verify::check_against_baseline(
        what, vk, expected,
    )?)
}

/// [`security_bits`] of the verifying key that belongs to a proving key.
pub fn security_bits_of(pk: &MultiStarkProvingKey<SC>) -> f64 {
    security_bits(&pk.get_vk())
}

#[cfg(test)]
mod tests {
    use openvm_circuit::arch::SystemConfig;
    use openvm_metal_verify::{is_plausible, DEFAULT_SHAPE};

    use super::*;
    use crate::parameters::{toy_aggregation, toy_app};

    #[test]
    fn toy_parameters_are_plausible() {
        let aggregation = toy_aggregation(17);
        for params in [toy_app(18), aggregation.leaf, aggregation.internal] {
            assert!(is_plausible(&params), "{params:?}");
        }
    }

    /// Catches a default of OpenVM that `is_openvm_circuit` does not know.
    #[test]
    fn the_default_shape_is_openvms() {
        let system = SystemConfig::default();
        let memory = system.memory_config.memory_dimensions();
        let memory = MemoryDimensions {
            addr_space_height: memory.addr_space_height,
            address_height: memory.address_height,
        };
        assert_eq!(DEFAULT_SHAPE, (memory, system.num_public_values));
    }
}
