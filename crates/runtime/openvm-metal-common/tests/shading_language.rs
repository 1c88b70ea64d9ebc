//! The function library of the Metal Shading Language against Rust's arithmetic, on the device in
//! `OPENVM_METAL_DEVICE` (the CPU by default).

#[path = "shading_language/harness.rs"]
mod harness;
#[path = "shading_language/integers.rs"]
mod integers;
#[path = "shading_language/maths.rs"]
mod maths;
#[path = "shading_language/numbers.rs"]
mod numbers;
#[path = "shading_language/packing.rs"]
mod packing;
#[path = "shading_language/vectors.rs"]
mod vectors;

#[test]
fn everything_compiles_to_ptx() -> harness::Outcome<()> {
    for source in [
        integers::SOURCE,
        maths::SOURCE,
        vectors::SOURCE,
        packing::SOURCE,
    ] {
        harness::ptx(source)?;
    }
    Ok(())
}
