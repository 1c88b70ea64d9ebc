//! The concrete protocol types of this prover.

pub use config::{Digest, CHUNK, DIGEST_SIZE, D_EF, EF, F};
use openvm_stark_sdk::config::baby_bear_poseidon2 as config;
/// The protocol configuration: BabyBear, its degree-4 extension, Poseidon2 of width 16.
pub type SC = config::BabyBearPoseidon2Config;
