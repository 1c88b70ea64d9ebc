fn main() {
    let folder = std::env::args().nth(1).unwrap();
    let out = std::env::args().nth(2).unwrap();
    std::env::set_var("CARGO_MANIFEST_DIR", folder);
    std::env::set_var("OUT_DIR", out);
    std::env::set_var("CARGO_CFG_TARGET_ARCH", "x86_64");
    std::env::set_var("CARGO_PKG_NAME", "demo");
    std::env::set_var("TARGET", "x86_64-unknown-linux-gnu");
    std::env::set_var("HOST", "x86_64-unknown-linux-gnu");
    if let Err(e) = openvm_metal_builder::Builder::new("").build() {
        openvm_metal_builder::fail(&e);
    }
}
