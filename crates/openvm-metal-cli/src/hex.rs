//! Bytes as text.

use openvm_sdk::F;
use p3_field::PrimeField32;

/// `0x` and two digits for each byte.
pub fn encode(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}

/// Public values, one byte each, as [`encode`] writes bytes.
pub fn encode_values(values: &[F]) -> String {
    let bytes: Vec<u8> = values.iter().map(|x| x.as_canonical_u32() as u8).collect();
    encode(&bytes)
}
