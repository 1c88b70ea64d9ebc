//! Verification of aggregated proofs: the key, OpenVM's STARK verifier, the statement.

#[cfg(not(target_family = "wasm"))]
use std::time::Instant;

use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey, p3_field::PrimeField32, verifier,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::default_duplex_sponge;
use serde::{de::IgnoredAny, Deserialize, Serialize, Serializer};

use crate::{
    baseline::Baseline,
    commitment::Commitment,
    error::{guard, Rejection, VerifyError},
    key::{check_against_baseline, check_key, require, VerifyingKey},
    prelude::{F, SC},
    proof::StarkProof,
    statement::check_statement,
};

/// Most bytes of a proof.
pub const MAX_PROOF: usize = 64 << 20;
/// Most bytes of a verifying key.
pub const MAX_KEY: usize = 64 << 20;
/// Most bytes of a baseline or a pair of commitments.
pub const MAX_EXPECTED: usize = 1 << 20;

const KEY: &str = "the aggregation verifying key";

/// The source of trust: what the caller knows that did not come with the proof.
#[derive(Clone, Copy, Debug)]
pub enum Trust<'a> {
    /// The bytes of a file that `openvm-metal commit` makes of the program: `NAME.baseline.json` or
    /// `NAME.commit.json`.
    Expected(&'a [u8]),
    /// The key is the caller's own, with a baseline in its file. The caller compares the commitments that are returned.
    Key,
    /// No trust: the proof is refused, and the error names the missing file.
    Nothing,
}

/// The source that a proof was compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ComparedWith {
    /// A baseline: key, circuits, memory and program.
    Baseline,
    /// Commitments: OpenVM's circuit, the program and the virtual machine.
    Commitments,
    /// Nothing: the key was trusted.
    Nothing,
}

/// The statement of a proof that was verified: an execution of the program `app_exe_commit` on the
/// virtual machine `app_vm_commit` ended with exit code 0 and revealed `public_values`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Verified {
    /// The commitment to the program: its code, its initial memory and its entry point. Extensions do not change it, except deferral circuits,
    /// whose commitments are in the initial memory. Parameters do: code is committed with the stacked height and the code rate of the
    /// application's circuit, and the memory with the machine's layout.
    pub app_exe_commit: Commitment,
    /// The commitment to the virtual machine: extensions and parameters of the application's circuit,
    /// of the leaves and of the internal-for-leaf nodes.
    pub app_vm_commit: Commitment,
    /// The bytes that the guest revealed. In JSON as `0x` and hexadecimal digits.
    #[serde(serialize_with = "hexadecimal")]
    pub public_values: Vec<u8>,
    /// The exit code of the guest: 0, as proofs of others are refused.
    pub exit_code: u32,
    /// Bits of security: of the weakest circuit, if the files of the caller say them, else of the last circuit.
    pub security_bits: f64,
    /// True if `security_bits` are those of the weakest circuit, false if they are the last one's. The circuits below it are
    /// fixed by `app_vm_commit`.
    pub is_of_all_circuits: bool,
    /// The source that the proof was compared with.
    pub compared_with: ComparedWith,
    /// Seconds that the verification took. Absent on targets without a clock, as wasm32-unknown-unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

fn hexadecimal<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format!("0x{}", hex::encode(bytes)))
}

/// The parts of a caller's file that tell a baseline from commitments.
#[derive(Deserialize)]
struct Expected {
    app_exe_commit: Commitment,
    app_vm_commit: Option<Commitment>,
    memory_dimensions: Option<IgnoredAny>,
    /// The bits of security of all circuits, in files that say them.
    security_bits: Option<f64>,
}

/// Verifies the files of an aggregated proof. `proof` are the bytes of `NAME.stark.proof`, `key` those of
/// `NAME.stark.vk` or `internal_recursive.vk`. Keys of fewer than `min_security_bits` are refused; usually
/// [`MIN_SECURITY_BITS`](crate::MIN_SECURITY_BITS).
///
/// The key has to have a baseline, as `NAME.stark.vk` does, if commitments alone or a trusted key are expected.
///
/// # Errors
/// The first reason for which the proof is refused.
pub fn verify_files(
    proof: &[u8],
    key: &[u8],
    trust: Trust<'_>,
    min_security_bits: f64,
) -> Result<Verified, VerifyError> {
    #[cfg(not(target_family = "wasm"))]
    let start = Instant::now();
    bounded("a proof", proof, MAX_PROOF)?;
    bounded("a verifying key", key, MAX_KEY)?;
    let proof = StarkProof::from_json(proof)?;
    let key = VerifyingKey::from_bytes(key)?;
    check_key(KEY, &key.key, min_security_bits)?;
    let (baseline, compared_with, known) = match trust {
        Trust::Expected(expected) => compare(expected, key.baseline, min_security_bits)?,
        Trust::Key => (own_baseline(key.baseline)?, ComparedWith::Nothing, None),
        Trust::Nothing => return Err(untrusted(&own_baseline(key.baseline)?)),
    };
    let (security_bits, public_values) = verify(&key.key, &baseline, &proof, min_security_bits)?;
    Ok(Verified {
        app_exe_commit: baseline.app_exe_commit.into(),
        app_vm_commit: baseline.app_vm_commit(),
        public_values,
        exit_code: 0,
        security_bits: known.map_or(security_bits, |known| known.min(security_bits)),
        is_of_all_circuits: known.is_some(),
        compared_with,
        #[cfg(not(target_family = "wasm"))]
        seconds: Some(start.elapsed().as_secs_f64()),
        #[cfg(target_family = "wasm")]
        seconds: None,
    })
}

/// The baseline to verify with, by a file of the caller's: a baseline, or commitments that the key's own baseline is
/// compared with. Further the bits of security that the file names.
fn compare(
    expected: &[u8],
    of_key: Option<Baseline>,
    min_security_bits: f64,
) -> Result<(Baseline, ComparedWith, Option<f64>), VerifyError> {
    let what = "a verification baseline or a pair of commitments";
    bounded(what, expected, MAX_EXPECTED)?;
    let bad = |error: serde_json::Error| VerifyError::Bytes {
        what,
        reason: format!(
            "it is damaged, cut off, of another version or something else ({error}); \
             `openvm-metal commit` makes one"
        ),
    };
    let file: Expected = serde_json::from_slice(expected).map_err(bad)?;
    if let Some(bits) = file.security_bits {
        require(
            "the virtual machine of the commitments",
            bits,
            min_security_bits,
        )?;
    }
    let app_vm_commit = match (file.memory_dimensions, file.app_vm_commit) {
        (None, Some(commit)) => commit,
        _ => {
            let baseline: Baseline<Commitment> = serde_json::from_slice(expected).map_err(bad)?;
            return Ok((baseline.into(), ComparedWith::Baseline, file.security_bits));
        }
    };
    let baseline = own_baseline(of_key)?;
    if !baseline.is_openvm_circuit() {
        return Err(untrusted(&baseline));
    }
    let program = baseline.app_exe_commit.into();
    for (what, found, expected) in [
        ("program", program, file.app_exe_commit),
        ("virtual machine", baseline.app_vm_commit(), app_vm_commit),
    ] {
        if found != expected {
            return Err(VerifyError::OtherProgram {
                what,
                found,
                expected,
            });
        }
    }
    Ok((baseline, ComparedWith::Commitments, file.security_bits))
}

fn own_baseline(of_key: Option<Baseline>) -> Result<Baseline, VerifyError> {
    of_key.ok_or(VerifyError::UntrustedKey {
        remedy: "it is a key without a baseline. Give the baseline of the program, which `openvm-metal commit` \
                 makes",
    })
}

/// The refusal of a key that was compared with nothing.
fn untrusted(baseline: &Baseline) -> VerifyError {
    VerifyError::UntrustedKey {
        remedy: match baseline.is_openvm_circuit() {
            true => {
                "give --commit FILE, which `openvm-metal commit` makes from the program, to compare it \
                 with; or --trust-vk if it is yours"
            }
            false => {
                "it is not OpenVM's circuit with default parameters. Give --agg-vk and --baseline, which \
                 `openvm-metal setup` and `commit` make from the program; or --trust-vk if it is yours"
            }
        },
    }
}

fn bounded(what: &'static str, bytes: &[u8], most: usize) -> Result<(), VerifyError> {
    match bytes.len() <= most {
        true => Ok(()),
        false => Err(VerifyError::Bytes {
            what,
            reason: format!("it has more than {most} bytes, the most that are read"),
        }),
    }
}

/// Verifies an aggregated proof. The key's contents are compared with its hash, the hash with that of the baseline, so a
/// baseline that the caller made is all that has to be trusted. Returns the bits of security of the last circuit, and
/// the public values.
///
/// Keys of fewer than `min_security_bits` are refused; usually [`MIN_SECURITY_BITS`](crate::MIN_SECURITY_BITS).
///
/// # Errors
/// [`VerifyError::Key`], [`VerifyError::Insecure`] or [`VerifyError::Rejected`], with the first difference.
pub fn verify(
    key: &MultiStarkVerifyingKey<SC>,
    baseline: &Baseline,
    proof: &StarkProof,
    min_security_bits: f64,
) -> Result<(f64, Vec<u8>), VerifyError> {
    check_against_baseline(KEY, key, &baseline.internal_recursive_vk_commit.vk_pre_hash)?;
    let security_bits = check_key(KEY, key, min_security_bits)?;
    check_proof(key, baseline, proof)?;
    Ok((security_bits, bytes(&proof.user_pvs_proof.public_values)?))
}

/// Verifies an aggregated proof with a key and a baseline that are taken as they are: by OpenVM's STARK verifier, then the
/// statement.
///
/// # Errors
/// [`VerifyError::Rejected`] or [`VerifyError::Unverifiable`].
pub fn check_proof(
    key: &MultiStarkVerifyingKey<SC>,
    baseline: &Baseline,
    proof: &StarkProof,
) -> Result<(), VerifyError> {
    guard(|| {
        let config = SC::default_from_params(key.inner.params.clone());
        verifier::verify(&config, key, &proof.inner, &mut default_duplex_sponge())
    })?
    .map_err(Rejection::from)?;
    Ok(check_statement(proof, baseline)?)
}

/// The bytes of public values.
///
/// # Errors
/// [`VerifyError::Bytes`] if a public value is no byte.
pub fn bytes(values: &[F]) -> Result<Vec<u8>, VerifyError> {
    let byte = |x: &F| u8::try_from(x.as_canonical_u32());
    let bytes: Result<_, _> = values.iter().map(byte).collect();
    bytes.map_err(|_| VerifyError::Bytes {
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
