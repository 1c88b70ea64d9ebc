//! The concrete protocol types of OpenVM programs.

pub use openvm_stark_sdk::config::baby_bear_poseidon2::{BabyBearPoseidon2Config as SC, Digest, F};

/// The configuration of root proofs: BabyBear, hashed with Poseidon2 over BN254.
pub use openvm_stark_sdk::config::baby_bear_bn254_poseidon2::BabyBearBn254Poseidon2Config as RootSC;
