//! Compiles the kernels under `metal/` and generates their launchers.

fn main() {
    let built = openvm_metal_builder::Builder::new("metal")
        .map_type("Fp", "::p3_baby_bear::BabyBear")
        .map_type(
            "FpExt",
            "::p3_field::extension::BinomialExtensionField<::p3_baby_bear::BabyBear, 4>",
        )
        .map_type("Digest", "[::p3_baby_bear::BabyBear; 8]")
        .map_type("Bn254Node", "crate::bn254::Bn254Node")
        .cost_unit("ext product", 19, 2)
        // Poseidon2 of width 16.
        .cost_unit("permutation", 564, 1)
        // 8 x 8 words, as many for the multiples of the modulus and 8 for which of them: by threes, as a product of BabyBear has.
        .cost_unit("bn254 product", 136, 3)
        // Tiles for a threadgroup that has more memory than Apple's GPUs give it.
        .above_threadgroup_memory("commit/encode", 32 << 10)
        .above_threadgroup_memory("ntt/tall", 32 << 10)
        .above_threadgroup_memory("ntt/tall_ext", 32 << 10)
        .at_first_use("bench/peak")
        .at_first_use("commit/message_other")
        // For proofs whose hash is over the scalar field of BN254.
        .at_first_use("bn254/merkle")
        .at_first_use("bn254/absorb")
        .at_first_use("bn254/grind")
        // For commitments of 64 MiB and more.
        .at_first_use("hash/absorb")
        .build();
    // Functions that kernels call which are written while a program runs.
    let embedded = || openvm_metal_builder::embed("metal", "constraints/rules.h");
    if let Err(e) = built.and_then(|()| embedded()) {
        openvm_metal_builder::fail(&e);
    }
}
