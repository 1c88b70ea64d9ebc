//! Proofs as bytes: the encoding of `openvm-stark-backend`.

use openvm_circuit::system::memory::{merkle::public_values::UserPublicValuesProof, CHUNK};
use openvm_metal_sdk::{decode_proof, SdkError};
use openvm_stark_backend::{codec::Encode, proof::Proof};
use openvm_stark_sdk::config::baby_bear_poseidon2::{BabyBearPoseidon2Config as SC, F};

/// The guest's public values, with their path.
pub type Values = UserPublicValuesProof<CHUNK, F>;

fn bad(what: &'static str) -> impl Fn(std::io::Error) -> SdkError {
    move |error| SdkError::Bytes {
        what,
        reason: error.to_string(),
    }
}

/// The bytes of anything with this encoding.
pub fn encode(what: &'static str, value: &impl Encode) -> Result<Vec<u8>, SdkError> {
    value.encode_to_vec().map_err(bad(what))
}

/// The proof of a segment or node.
pub fn proof(bytes: &[u8]) -> Result<Proof<SC>, SdkError> {
    decode_proof(bytes).map_err(bad("a proof"))
}

/// The bytes of what the guest revealed.
pub fn encode_values(values: &Values) -> Result<Vec<u8>, SdkError> {
    let mut bytes = Vec::new();
    values
        .encode::<SC, _>(&mut bytes)
        .map_err(bad("public values"))?;
    Ok(bytes)
}

/// Public values of the guest, without bytes behind them.
pub fn values(bytes: &[u8]) -> Result<Values, SdkError> {
    let mut rest = bytes;
    let values = Values::decode::<SC, _>(&mut rest).map_err(bad("public values"))?;
    if rest.is_empty() {
        return Ok(values);
    }
    let reason = format!("{} bytes follow them", rest.len());
    Err(SdkError::Bytes {
        what: "public values",
        reason,
    })
}
