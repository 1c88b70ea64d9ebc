//! Links `memcpy`, `memset` and `memcmp` of `src/memory.rs` in place of openvm's, whose symbols a package cannot override otherwise.

fn main() {
    for name in ["memcpy", "memset", "memcmp"] {
        println!("cargo:rustc-link-arg-bins=--wrap={name}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}
