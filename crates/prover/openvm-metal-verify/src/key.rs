//! Verifying keys: their bytes, their contents against their hash, their hash against a baseline, and
//! the bits of security of their parameters.
//!
//! OpenVM's verifier believes its key. A key that comes with a proof can be the key of any circuit,
//! so whoever verifies needs a hash from another source: a baseline that they made, or
//! [`OPENVM_CIRCUIT`](crate::OPENVM_CIRCUIT).

use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey, p3_field::PrimeCharacteristicRing,
    soundness::SoundnessCalculator, StarkProtocolConfig, SystemParams,
};
use serde::Deserialize;

use crate::{
    baseline::Baseline,
    commitment::Commitment,
    error::{guard, VerifyError},
    hash::hash_slice,
    prelude::{Digest, F, SC},
};

/// Bits of security below which proofs are neither made nor accepted unless the caller asks for it.
pub const MIN_SECURITY_BITS: f64 = 80.0;

/// The version of OpenVM's encoding of proofs, with which the hash of a key begins.
const CODEC_VERSION: u32 = 3;

/// A verifying key of aggregated proofs, and the baseline that came with it.
#[derive(Clone, Debug)]
pub struct VerifyingKey {
    /// The key of the last circuit.
    pub key: MultiStarkVerifyingKey<SC>,
    /// The baseline of the file, if it has one: that of `openvm-metal prove stark` (`.stark.vk`) has, that of
    /// `openvm-metal setup` (`internal_recursive.vk`) has none.
    pub baseline: Option<Baseline>,
}

impl VerifyingKey {
    /// Takes a key from the bytes of a file of either form. Its contents are compared with its hash.
    ///
    /// # Errors
    /// [`VerifyError::Bytes`] if they hold none.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, VerifyError> {
        #[derive(Deserialize)]
        struct WithBaseline {
            key: MultiStarkVerifyingKey<SC>,
            baseline: Baseline,
        }

        let decode = || match bitcode::deserialize::<WithBaseline>(bytes) {
            Ok(both) => Ok((both.key, Some(both.baseline))),
            Err(error) => match bitcode::deserialize(bytes) {
                Ok(key) => Ok((key, None)),
                // Of the form that keys are handed on in.
                Err(_) => Err(error.to_string()),
            },
        };
        let decoded = guard(decode)
            .unwrap_or_else(|_| Err("its parts contradict each other".into()))
            .and_then(|(key, baseline)| match check_key("the key", &key, 0.0) {
                Ok(_) => Ok(Self { key, baseline }),
                Err(VerifyError::Key { reason, .. }) => Err(reason),
                Err(error) => Err(error.to_string()),
            });
        decoded.map_err(|reason| VerifyError::Bytes {
            what: "a verifying key",
            reason: format!(
                "it is damaged, cut off, of another version or something else ({reason}); \
                 `openvm-metal setup` and `commit` make what it consists of"
            ),
        })
    }
}

/// The hash that a key names, in the form of OpenVM's commitments.
pub fn key_hash(vk: &MultiStarkVerifyingKey<SC>) -> Commitment {
    vk.pre_hash.into()
}

/// Compares the contents of a verifying key with the hash that it names, and its parameters with
/// `min_security_bits`. Returns the bits of security.
///
/// # Errors
/// [`VerifyError::Key`] if the contents have another hash or parameters that no circuit has,
/// [`VerifyError::Insecure`] if the parameters give fewer bits. Both name the key as `what`.
pub fn check_key(
    what: &'static str,
    vk: &MultiStarkVerifyingKey<SC>,
    min_security_bits: f64,
) -> Result<f64, VerifyError> {
    check_key_of(what, vk, hash_slice, min_security_bits)
}

/// [`check_key`] for a key of another hash, by which `hash` hashes its contents.
///
/// # Errors
/// Errors of [`check_key`].
pub fn check_key_of<C: StarkProtocolConfig<F = F>>(
    what: &'static str,
    vk: &MultiStarkVerifyingKey<C>,
    hash: impl FnOnce(&[F]) -> C::Digest,
    min_security_bits: f64,
) -> Result<f64, VerifyError> {
    let refuse = |reason: &str| {
        Err(VerifyError::Key {
            what,
            reason: reason.into(),
        })
    };
    if !is_plausible(&vk.inner.params) {
        return refuse("no circuit has such parameters");
    }
    if hash(&key_contents(vk)?) != vk.pre_hash {
        return refuse("its contents do not match its hash, so it is damaged or forged");
    }
    let bits = security_bits(vk);
    require(what, bits, min_security_bits)?;
    Ok(bits)
}

/// Refuses parameters that give fewer than `min` bits of security. A `min` that is no number refuses all.
///
/// # Errors
/// [`VerifyError::Insecure`], which names the parameters' owner as `what`.
pub fn require(what: &'static str, bits: f64, min: f64) -> Result<(), VerifyError> {
    match bits >= min {
        true => Ok(()),
        false => Err(VerifyError::Insecure { what, bits, min }),
    }
}

/// Compares the hash of a key with the hash that a baseline names for it.
///
/// # Errors
/// [`VerifyError::Key`] if they differ.
pub fn check_against_baseline(
    what: &'static str,
    vk: &MultiStarkVerifyingKey<SC>,
    expected: &Digest,
) -> Result<(), VerifyError> {
    match vk.pre_hash == *expected {
        true => Ok(()),
        false => Err(VerifyError::Key {
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
pub fn security_bits<C: StarkProtocolConfig>(vk: &MultiStarkVerifyingKey<C>) -> f64 {
    if !is_plausible(&vk.inner.params) {
        return 0.0;
    }
    let calculated = guard(|| SoundnessCalculator::calculate_from_vk(vk));
    let bits = calculated.map_or(0.0, |soundness| soundness.total_bits);
    // No number at all is no security.
    if bits.is_finite() {
        bits.max(0.0)
    } else {
        0.0
    }
}

/// The contents of a key as OpenVM's key generation hashes them: the version of the encoding, the length and the contents in `postcard`,
/// one field element for each byte.
///
/// # Errors
/// [`VerifyError::Bytes`] if they cannot be encoded.
pub fn key_contents<C: StarkProtocolConfig>(
    vk: &MultiStarkVerifyingKey<C>,
) -> Result<Vec<F>, VerifyError> {
    let contents = postcard::to_allocvec(&vk.inner).map_err(|error| VerifyError::Bytes {
        what: "a verifying key",
        reason: error.to_string(),
    })?;
    let length = (contents.len() as u64).to_le_bytes();
    let bytes = CODEC_VERSION.to_le_bytes().into_iter().chain(length);
    Ok(bytes.chain(contents).map(F::from_u8).collect())
}

/// True if parameters are in the range in which the calculator and the verifier end.
pub fn is_plausible(params: &SystemParams) -> bool {
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

    #[test]
    fn openvms_parameters_are_plausible() {
        for params in [
            app_params_with_100_bits_security(24),
            leaf_params_with_100_bits_security(),
            internal_params_with_100_bits_security(),
        ] {
            assert!(is_plausible(&params), "{params:?}");
        }
    }

    #[test]
    fn parameters_for_which_loops_do_not_end_are_refused() {
        let good = app_params_with_100_bits_security(24);
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

    #[test]
    fn a_bound_that_is_no_number_refuses_all() {
        assert!(require("the key", 100.0, 80.0).is_ok());
        assert!(require("the key", 80.0, 80.0).is_ok());
        for min in [80.1, f64::NAN, f64::INFINITY] {
            assert!(require("the key", 80.0, min).is_err(), "{min}");
        }
    }
}
