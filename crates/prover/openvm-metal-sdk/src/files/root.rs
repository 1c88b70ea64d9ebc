//! Root proofs, in OpenVM's encoding of proofs, and root keys.

use openvm_sdk::keygen::RootProvingKey;
use openvm_stark_backend::{
    codec::{Decode, Encode},
    keygen::types::MultiStarkVerifyingKey,
    proof::Proof,
};

use super::bitcode;
use crate::{error::SdkError, prelude::RootSC, verifying_key::check_root_key};

fn check(vk: &MultiStarkVerifyingKey<RootSC>) -> Result<(), String> {
    match check_root_key("the key", vk, 0.0) {
        Ok(_) => Ok(()),
        Err(SdkError::Key { reason, .. }) => Err(reason),
        Err(error) => Err(error.to_string()),
    }
}

pub(super) fn pk(bytes: &[u8]) -> Result<RootProvingKey, String> {
    let key: RootProvingKey = bitcode(bytes)?;
    check(&key.root_pk.get_vk())?;
    // The hash of the key does not cover the heights.
    let most = 1 << key.root_pk.params.log_stacked_height();
    match key
        .trace_heights
        .iter()
        .find(|&&height| !height.is_power_of_two() || height > most)
    {
        Some(height) => Err(format!(
            "a trace of {height} rows, not a power of two up to {most}"
        )),
        None => Ok(key),
    }
}

pub(super) fn vk(bytes: &[u8]) -> Result<MultiStarkVerifyingKey<RootSC>, String> {
    let key = bitcode(bytes)?;
    check(&key)?;
    Ok(key)
}

/// Decodes a proof, whose bytes are compared with the encoding of what they hold: one proof has one form.
pub(super) fn decode(bytes: &[u8]) -> Result<Proof<RootSC>, String> {
    let proof = Proof::decode_from_bytes(bytes).map_err(|error| error.to_string())?;
    match encode(&proof)? == bytes {
        true => Ok(proof),
        false => Err("it is not encoded as OpenVM does".into()),
    }
}

pub(super) fn encode(proof: &Proof<RootSC>) -> Result<Vec<u8>, String> {
    proof.encode_to_vec().map_err(|error| error.to_string())
}
