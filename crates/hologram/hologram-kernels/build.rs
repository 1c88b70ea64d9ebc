//! Compiles the kernels under `metal/` and generates their launchers.

fn main() {
    // Bits of a 64-bit float: Rust passes bytes.
    let builder = openvm_metal_builder::Builder::new("metal").map_type("wide", "u64");
    if let Err(e) = builder.build() {
        openvm_metal_builder::fail(&e);
    }
}
