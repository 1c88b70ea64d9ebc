//! `BabyBearPoseidon2MetalEngine`: the `StarkEngine`.
