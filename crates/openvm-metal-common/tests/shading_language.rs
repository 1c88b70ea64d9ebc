//! The function library of the Metal Shading Language against Rust's arithmetic, on the device in
//! `OPENVM_METAL_DEVICE` (the CPU by default).

#[path = "shading_language/harness.rs"]
mod harness;

use harness::{on_devices, Outcome, Source};

const INTEGER: Source = Source {
    name: "integer",
    text: include_str!("shading_language/integer.metal"),
};

#[test]
fn integers() -> Outcome<()> {
    on_devices(INTEGER, |kernels| {
        let input: Vec<u32> = (0..2000u32).map(|i| i.wrapping_mul(2654435769)).collect();
        let out = kernels.run("min_max", &input, 2000, 1000, 64)?;
        for (i, o) in input.chunks_exact(2).zip(out.chunks_exact(2)) {
            let signed = (i[0] as i32).max(i[1] as i32) as u32;
            assert_eq!(o, [i[0].min(i[1]), signed], "{i:?}");
        }
        Ok(())
    })
}

#[test]
fn everything_compiles_to_ptx() -> Outcome<()> {
    harness::ptx(INTEGER)?;
    Ok(())
}
