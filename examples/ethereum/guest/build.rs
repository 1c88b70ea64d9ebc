//! Takes the functions of memory from `src/memory.rs`: openvm defines its own, which a package cannot replace otherwise.

fn main() {
    for name in ["memcpy", "memset", "memcmp"] {
        println!("cargo:rustc-link-arg-bins=--wrap={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
