//! Checks of verifying keys: their contents against their hash, their hash against a baseline, and
//! the bits of security of their parameters.
//!
//! OpenVM's verifier believes its key. A key that comes with a proof can be the key of any circuit,
//! so whoever verifies needs a hash from another source: a baseline that they made, or
//! [`OPENVM_CIRCUIT`].

use openvm_circuit::arch::SystemConfig;
use openvm_continuations::CommitBytes;
use openvm_stark_backend::{
    hasher::MerkleHasher,
    keygen::types::{MultiStarkProvingKey, MultiStarkVerifyingKey},
    p3_field::PrimeCharacteristicRing,
    soundness::SoundnessCalculator,
    StarkProtocolConfig, SystemParams,
};
use openvm_verify_stark_host::{pvs::VkCommit, vk::VerificationBaseline};

use crate::{
    error::{guard, SdkError, Stage},
    prelude::{Digest, F, SC},
};

/// Bits of security below which proofs are neither made nor accepted unless the caller asks for it.
pub const MIN_SECURITY_BITS: f64 = 80.0;

/// The commitment to the circuit in which every aggregated proof with OpenVM 2.0's default parameters
/// ends, whatever the program and its extensions: the internal-recursive circuit, as a baseline names it.
pub const OPENVM_CIRCUIT: OpenvmCircuit = OpenvmCircuit {
    cached_commit: "0x0077ff0c720c495f2998c5b9ba87414db004a29787bb43f6fffa76049b75fd17",
    vk_pre_hash: "0x0082a0cb4bdde6422848a41c7e000b67072ef65d2742389ef0392c4705ad7b1d",
};

/// A commitment to a circuit as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenvmCircuit {
    /// The commitment to the constraints of the key that the circuit verifies, here its own.
    pub cached_commit: &'static str,
    /// The hash of that key.
    pub vk_pre_hash: &'static str,
}

/// The version of OpenVM's encoding of proofs, with which the hash of a key begins.
const CODEC_VERSION: u32 = 3;

/// True if a baseline names [`OPENVM_CIRCUIT`], and memory and public values of OpenVM's default shape:
/// the shape says where the public values lie, and no commitment covers it. Then a proof that is verified
/// against it is a proof of OpenVM's own circuit, and the commitments to the program and to the virtual
/// machine are left to compare.
pub fn is_openvm_circuit(baseline: &VerificationBaseline) -> bool {
    let VkCommit {
        cached_commit,
        vk_pre_hash,
    } = baseline.internal_recursive_vk_commit;
    let system = SystemConfig::default();
    let default = system.memory_config.memory_dimensions();
    let found = &baseline.memory_dimensions;
    (found.addr_space_height, found.address_height)
        == (default.addr_space_height, default.address_height)
        && baseline.num_user_pvs == system.num_public_values
        && CommitBytes::from(cached_commit).to_string() == OPENVM_CIRCUIT.cached_commit
        && CommitBytes::from(vk_pre_hash).to_string() == OPENVM_CIRCUIT.vk_pre_hash
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
    let refuse = |reason: &str| {
        Err(SdkError::Key {
            what,
            reason: reason.into(),
        })
    };
    if !is_plausible(&vk.inner.params) {
        return refuse("no circuit has such parameters");
    }
    if hash_of(vk)? != vk.pre_hash {
        return refuse("its contents do not match its hash, so it is damaged or forged");
    }
    let bits = security_bits(vk);
    require(what, bits, min_security_bits)?;
    Ok(bits)
}

/// Refuses parameters that give fewer than `min` bits of security.
pub(crate) fn require(what: &'static str, bits: f64, min: f64) -> Result<(), SdkError> {
    match bits < min {
        true => Err(SdkError::Insecure { what, bits, min }),
        false => Ok(()),
    }
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
    match vk.pre_hash == *expected {
        true => Ok(()),
        false => Err(SdkError::Key {
            what,
            reason: "it is not the key that the baseline names: its circuit proves something \
                     else, or it has other parameters"
                .into(),
        }),
    }
}

/// The bits of security of a verifying key: the least of all phases' round-by-round bounds that are
/// proven for its parameters, its AIRs and its columns, grinding included, by OpenVM's calculator.
/// Parameters that the calculator refuses have 0 bits.
pub fn security_bits(vk: &MultiStarkVerifyingKey<SC>) -> f64 {
    if !is_plausible(&vk.inner.params) {
        return 0.0;
    }
    let calculated = guard(Stage::Verify, || SoundnessCalculator::calculate_from_vk(vk));
    let bits = calculated.map_or(0.0, |soundness| soundness.total_bits);
    // No number at all is no security.
    if bits.is_finite() {
        bits.max(0.0)
    } else {
        0.0
    }
}

/// [`security_bits`] of the verifying key that belongs to a proving key.
pub fn security_bits_of(pk: &MultiStarkProvingKey<SC>) -> f64 {
    security_bits(&pk.get_vk())
}

/// The hash of a key's contents, as OpenVM's key generation computes it: the version of the encoding,
/// the length and the contents in `postcard`, one field element for each byte.
fn hash_of(vk: &MultiStarkVerifyingKey<SC>) -> Result<Digest, SdkError> {
    let contents = postcard::to_allocvec(&vk.inner).map_err(|error| SdkError::Bytes {
        what: "a verifying key",
        reason: error.to_string(),
    })?;
    let length = (contents.len() as u64).to_le_bytes();
    let bytes = CODEC_VERSION.to_le_bytes().into_iter().chain(length);
    let hashed: Vec<F> = bytes.chain(contents).map(F::from_u8).collect();
    let config = SC::default_from_params(vk.inner.params.clone());
    Ok(config.hasher().hash_slice(&hashed))
}

/// True if parameters are in the range in which the calculator and the verifier end.
fn is_plausible(params: &SystemParams) -> bool {
    let whir = &params.whir;
    let height = params.l_skip.saturating_add(params.n_stack);
    let folded = whir.k.saturating_mul(whir.rounds.len());
    let grinding = [
        whir.mu_pow_bits,
        whir.query_phase_pow_bits,
        whir.folding_pow_bits,
        params.logup.pow_bits,
    ];
    let queries = whir.rounds.iter().map(|round| round.num_queries);
    (1..=30).contains(&height)
        && (1..=30).contains(&params.log_blowup)
        && (2..=1 << 24).contains(&params.w_stack)
        && (1..=height).contains(&folded)
        && (1..=64).contains(&params.max_constraint_degree)
        && params.logup.log_max_message_length <= 30
        && grinding.into_iter().all(|bits| bits <= 30)
        && queries.max().is_some_and(|most| most <= 1 << 16)
}

#[cfg(test)]
mod tests {
    use openvm_stark_sdk::config::{
        app_params_with_100_bits_security, internal_params_with_100_bits_security,
        leaf_params_with_100_bits_security,
    };

    use super::*;
    use crate::parameters::{toy_aggregation, toy_app};

    #[test]
    fn all_parameters_of_ours_are_plausible() {
        let aggregation = toy_aggregation(17);
        for params in [
            app_params_with_100_bits_security(24),
            leaf_params_with_100_bits_security(),
            internal_params_with_100_bits_security(),
            toy_app(18),
            aggregation.leaf,
            aggregation.internal,
        ] {
            assert!(is_plausible(&params), "{params:?}");
        }
    }

    #[test]
    fn parameters_for_which_loops_do_not_end_are_refused() {
        let good = toy_app(18);
        let changes: [fn(&mut SystemParams); 9] = [
            |p| p.whir.k = usize::MAX,
            |p| p.whir.k = 30,
            |p| p.whir.rounds.clear(),
            |p| p.whir.rounds[0].num_queries = usize::MAX,
            |p| p.whir.mu_pow_bits = 64,
            |p| p.l_skip = usize::MAX,
            |p| p.log_blowup = 0,
            |p| p.w_stack = 1,
            |p| p.logup.log_max_message_length = 99,
        ];
        for (index, change) in changes.iter().enumerate() {
            let mut params = good.clone();
            change(&mut params);
            assert!(!is_plausible(&params), "change {index}");
        }
    }
}
