//! Compiles the kernels under `metal/` and generates their launchers.

fn main() {
    if let Err(e) = openvm_metal_builder::Builder::new("metal").build() {
        openvm_metal_builder::fail(&e);
    }
}
