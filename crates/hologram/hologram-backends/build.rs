//! Prepares the functions that emitted kernels call for Apple's compiler, which a program reaches without a C++ compiler.

fn main() {
    if let Err(e) = openvm_metal_builder::embed("src/translate/prelude", "prelude.metal") {
        openvm_metal_builder::fail(&e);
    }
}
