//! Compiles the kernels under `metal/` and generates their launchers.

fn main() {
    let built = openvm_metal_builder::Builder::new("metal").build();
    // What kernels call that are written while a program runs.
    let embedded = || openvm_metal_builder::embed("metal", "constraints/rules.h");
    if let Err(e) = built.and_then(|()| embedded()) {
        openvm_metal_builder::fail(&e);
    }
}
