//! Normalised numbers in words, and constants.

use crate::harness::{on_devices, Outcome, Source};
use crate::numbers::{half, near, Random};

pub const SOURCE: Source = Source::new("pack", include_str!("pack.metal"));

/// `x` in `bits` bits.
fn normalised(x: f32, bits: u32, signed: bool) -> u32 {
    let low = if signed { -1.0 } else { 0.0 };
    let most = ((1u32 << (bits - u32::from(signed))) - 1) as f32;
    let x = if x.is_nan() { 0.0 } else { x.clamp(low, 1.0) };
    ((x * most).round_ties_even() as i32 as u32) & ((1 << bits) - 1)
}

fn number(x: u32, bits: u32, signed: bool) -> f64 {
    let x = x & ((1 << bits) - 1);
    if !signed {
        return f64::from(x) / f64::from((1u32 << bits) - 1);
    }
    let x = ((x << (32 - bits)) as i32) >> (32 - bits);
    (f64::from(x) / f64::from((1u32 << (bits - 1)) - 1)).max(-1.0)
}

fn packed(values: &[f32], bits: &[u32], signed: bool) -> u32 {
    let mut at = 0;
    let mut word = 0;
    for (v, b) in values.iter().zip(bits) {
        word |= normalised(*v, *b, signed) << at;
        at += b;
    }
    word
}

#[test]
fn numbers_are_packed() -> Outcome<()> {
    const COUNT: usize = 500;
    let mut random = Random(13);
    let edges = [0.0, -0.0, 1.0, -1.0, 2.0, -7.0, f32::INFINITY, f32::NAN];
    let values: Vec<f32> = (0..4 * COUNT)
        .map(|i| match edges.get(i % 29) {
            Some(edge) => *edge,
            None => random.below(1 << 24) as f32 / (1 << 22) as f32 - 2.0,
        })
        .collect();
    let input: Vec<u32> = values.iter().map(|v| v.to_bits()).collect();
    on_devices(SOURCE, |kernels| {
        let out = kernels.run("pack", &input, 10 * COUNT, COUNT, 64)?;
        for (v, out) in values.chunks_exact(4).zip(out.chunks_exact(10)) {
            let h: Vec<f32> = v.iter().map(|x| half(*x)).collect();
            let want = [
                packed(v, &[8; 4], false),
                packed(v, &[8; 4], true),
                packed(&v[..2], &[16; 2], false),
                packed(&v[2..], &[16; 2], true),
                packed(v, &[10, 10, 10, 2], false),
                out[5],
                packed(&h, &[8; 4], false),
                packed(&h, &[8; 4], true),
                packed(&h[..2], &[16; 2], false),
                packed(&h, &[10, 10, 10, 2], false),
            ];
            assert_eq!(out, want, "{v:?}, {:?}", kernels.device);
            let colours = v[..3].iter().zip(out[5].to_le_bytes());
            for (x, got) in colours {
                let c = f64::from(if x.is_nan() { 0.0 } else { x.clamp(0.0, 1.0) });
                let s = if c < 0.003_130_8 {
                    12.92 * c
                } else {
                    1.055 * c.powf(1.0 / 2.4) - 0.055
                };
                let off = (f64::from(got) - s * 255.0).abs();
                assert!(off < 0.75, "sRGB of {x} is {got}, {:?}", kernels.device);
            }
            assert_eq!(out[5] >> 24, normalised(v[3], 8, false), "{v:?}");
        }
        Ok(())
    })
}

#[test]
fn numbers_are_unpacked() -> Outcome<()> {
    const COUNT: usize = 300;
    let mut random = Random(14);
    let mut input = vec![0, u32::MAX, 0x8080_8080, 0x7fff_8000, 0x8001_7f81];
    input.resize_with(COUNT, || random.next() as u32);
    on_devices(SOURCE, |kernels| {
        let out = kernels.run("unpack", &input, 34 * COUNT, COUNT, 64)?;
        for (&x, out) in input.iter().zip(out.chunks_exact(34)) {
            let bytes = |signed| (0..4).map(move |i| number(x >> (8 * i), 8, signed));
            let halves = |signed| (0..2).map(move |i| number(x >> (16 * i), 16, signed));
            let tens =
                || (0..4).map(move |i| number(x >> (10 * i), if i < 3 { 10 } else { 2 }, false));
            let colours = bytes(false).enumerate().map(|(i, c)| match c {
                _ if i == 3 => c,
                c if c <= 0.04045 => c / 12.92,
                c => ((c + 0.055) / 1.055).powf(2.4),
            });
            let want = bytes(false)
                .chain(bytes(true))
                .chain(halves(false))
                .chain(halves(true))
                .chain(tens())
                .chain(colours)
                .chain(bytes(false))
                .chain(bytes(true))
                .chain(halves(true))
                .chain(tens());
            for (i, (want, &got)) in want.zip(out).enumerate() {
                let tolerance = match i {
                    16..20 if kernels.approximate() => 1e-4,
                    20.. => 5e-4,
                    _ => 1e-6,
                };
                let got = f32::from_bits(got);
                assert!(
                    near(got, want, tolerance),
                    "number {i} of {x:08x} is {got}, not {want}, {:?}",
                    kernels.device
                );
            }
        }
        Ok(())
    })
}

#[test]
fn constants() -> Outcome<()> {
    use std::f32::consts as c;
    let integers = [
        8,
        127,
        -128,
        127,
        -128,
        255,
        32767,
        -32768,
        65535,
        i32::MAX,
        i32::MIN,
        6,
        24,
        2,
        128,
        -125,
        11,
        -1,
        i32::MAX,
        i32::MIN,
        -1,
    ];
    let floats = [
        f32::MAX,
        f32::MAX,
        f32::MIN_POSITIVE,
        f32::EPSILON,
        f32::INFINITY,
        f32::INFINITY,
        c::E,
        c::LOG2_E,
        c::LOG10_E,
        c::LN_2,
        c::LN_10,
        c::PI,
        c::FRAC_PI_2,
        c::FRAC_PI_4,
        c::FRAC_1_PI,
        c::FRAC_2_PI,
        c::FRAC_2_SQRT_PI,
        c::SQRT_2,
        c::FRAC_1_SQRT_2,
        65504.0,
        6.103_515_6e-5,
        9.765_625e-4,
        65504.0,
        half(c::PI),
        half(c::E),
        1.75,
    ];
    let words = integers.iter().map(|i| *i as u32);
    let want: Vec<u32> = words.chain(floats.iter().map(|f| f.to_bits())).collect();
    on_devices(SOURCE, |kernels| {
        let out = kernels.run("constants", &[0], want.len(), 1, 32)?;
        assert_eq!(out, want, "{:?}", kernels.device);
        Ok(())
    })
}
