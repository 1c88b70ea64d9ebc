//! Compiles the kernels under `metal/` and generates their launchers.

fn main() {
    // The headers of the field and of Poseidon2 are the backend's.
    for folder in ["field", "hash"] {
        println!("cargo:rerun-if-changed=../openvm-metal-backend/metal/{folder}");
    }
    let builder =
        openvm_metal_builder::Builder::new("metal").map_type("Fp", "::p3_baby_bear::BabyBear");
    if let Err(e) = builder.build() {
        openvm_metal_builder::fail(&e);
    }
}
