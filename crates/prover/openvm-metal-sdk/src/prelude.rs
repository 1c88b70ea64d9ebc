//! The concrete protocol types of OpenVM programs.

pub use openvm_stark_sdk::config::baby_bear_poseidon2::{BabyBearPoseidon2Config as SC, Digest, F};
