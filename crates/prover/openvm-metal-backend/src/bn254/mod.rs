//! The scalar field of BN254 on devices: nodes of Merkle trees whose hash is Poseidon2 over it, and proof-of-work for its transcript.
//!
//! Hashes and transcript are those of the reference's `BabyBearBn254Poseidon2Config`: width 3 for rows and transcripts, width 2 for
//! two nodes, eight BabyBear cells to an element.

mod grind;
mod scheme;
#[cfg(test)]
mod tests;
mod transcript;

pub use self::{grind::grind_smallest, transcript::MultiFieldTranscriptMetal};

use openvm_metal_common::DeviceElem;
use p3_bn254::Bn254;
use p3_field::RawDataSerializable;

/// Limbs of 64 bits of the inverse of 2^256 modulo the field's prime: the product of a word in memory, read as an integer, with it is the element.
const INVERSE_OF_R: [u64; 4] = [
    0xdc5b_a005_6db1_194e,
    0x090e_f5a9_e111_ec87,
    0xc826_0de4_aeb8_5d5d,
    0x15eb_f951_82c5_551c,
];

/// A node of a Merkle tree in device memory: an element of the scalar field of BN254 as eight words of 32 bits, lowest first, of the
/// Montgomery form with R = 2^256, fully reduced.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bn254Node(pub [u32; 8]);

// SAFETY: eight words without padding; the type is `repr(transparent)` over an array that is an element itself, and all bits are valid.
unsafe impl DeviceElem for Bn254Node {}

impl From<Bn254> for Bn254Node {
    fn from(x: Bn254) -> Self {
        // The bytes of an element are those of its Montgomery form, lowest first.
        let bytes: Vec<u8> = x.into_bytes().into_iter().collect();
        Self(std::array::from_fn(|i| {
            u32::from_le_bytes(std::array::from_fn(|k| bytes[4 * i + k]))
        }))
    }
}

impl From<Bn254Node> for Bn254 {
    fn from(node: Bn254Node) -> Self {
        let limb = |i: usize| u64::from(node.0[2 * i]) | u64::from(node.0[2 * i + 1]) << 32;
        Bn254::new(std::array::from_fn(limb)) * Bn254::new(INVERSE_OF_R)
    }
}

/// The integer below the prime of an element, as eight words of 32 bits, lowest first.
pub(crate) fn integer(x: Bn254) -> [u32; 8] {
    // The Montgomery form of x / 2^256 is the integer itself.
    Bn254Node::from(x * Bn254::new(INVERSE_OF_R)).0
}
