//! Proofs and keys of single circuits: proofs in the encoding of OpenVM's backend, keys in `postcard`.

use openvm_stark_backend::{codec::Encode, keygen::types::MultiStarkVerifyingKey, proof::Proof};

use super::keys;
use crate::{encoding, prelude::SC};

pub(super) fn decode_proof(bytes: &[u8]) -> Result<Proof<SC>, String> {
    let proof = encoding::decode_proof(bytes).map_err(|error| error.to_string())?;
    match encode_proof(&proof)? == bytes {
        true => Ok(proof),
        false => Err("its bytes are not the encoding of what they hold".into()),
    }
}

pub(super) fn encode_proof(proof: &Proof<SC>) -> Result<Vec<u8>, String> {
    proof.encode_to_vec().map_err(|error| error.to_string())
}

pub(super) fn decode_key(bytes: &[u8]) -> Result<MultiStarkVerifyingKey<SC>, String> {
    let (key, rest) = postcard::take_from_bytes::<MultiStarkVerifyingKey<SC>>(bytes)
        .map_err(|error| error.to_string())?;
    if !rest.is_empty() {
        return Err(format!("{} bytes follow its end", rest.len()));
    }
    keys::check(&key)?;
    Ok(key)
}

pub(super) fn encode_key(key: &MultiStarkVerifyingKey<SC>) -> Result<Vec<u8>, String> {
    postcard::to_allocvec(key).map_err(|error| error.to_string())
}
