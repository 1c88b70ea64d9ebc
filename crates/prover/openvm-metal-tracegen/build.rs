//! Compiles the kernels under `metal/` and generates their launchers.

fn main() {
    // The field's header is the backend's.
    println!("cargo:rerun-if-changed=../openvm-metal-backend/metal/field");
    let builder =
        openvm_metal_builder::Builder::new("metal").map_type("Fp", "::p3_baby_bear::BabyBear");
    if let Err(e) = builder.build() {
        openvm_metal_builder::fail(&e);
    }
}
