//! Proofs in the encoding of OpenVM's backend: their lengths are compared with their bytes first.

use std::io;

use openvm_metal_verify::check_lengths;
use openvm_stark_backend::codec::Decode;
use openvm_verify_stark_host::VmStarkProof;

pub use openvm_metal_verify::decode_proof;

/// Decodes the aggregated proof of an execution.
///
/// # Errors
/// If the bytes are not the encoding of one.
pub fn decode_stark_proof(bytes: &[u8]) -> io::Result<VmStarkProof> {
    check_lengths(bytes)?;
    VmStarkProof::decode_from_bytes(bytes)
}
