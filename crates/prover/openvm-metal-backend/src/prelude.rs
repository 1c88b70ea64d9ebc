//! The concrete protocol types of this prover.

pub use config::{Digest, CHUNK, DIGEST_SIZE, D_EF, EF, F};
use openvm_stark_sdk::config::baby_bear_poseidon2 as config;
use p3_field::PrimeField32;

/// Elements of a Poseidon2 state.
pub const WIDTH: usize = 2 * CHUNK;
/// Elements that a sponge over Poseidon2 absorbs or squeezes with one permutation.
pub const RATE: usize = CHUNK;

/// The protocol configuration: BabyBear, its degree-4 extension, Poseidon2 of width 16.
pub type SC = config::BabyBearPoseidon2Config;

/// The Montgomery word of an element, as kernels see it.
pub(crate) fn montgomery(x: F) -> u32 {
    ((u64::from(x.as_canonical_u32()) << 32) % u64::from(F::ORDER_U32)) as u32
}

/// The words of elements as they lie in memory. Words that are no elements stay what they are: nodes of trees are read as elements, too.
pub(crate) fn words_of(elements: &[F]) -> Vec<u32> {
    openvm_metal_common::as_bytes(elements)
        .chunks_exact(size_of::<u32>())
        .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
        .collect()
}
