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
