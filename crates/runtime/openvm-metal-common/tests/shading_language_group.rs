//! SIMD-groups, quad-groups, SIMD-group matrices, atomics and function constants of the Metal Shading Language against
//! Rust, on the device in `OPENVM_METAL_DEVICE` (the CPU by default).

#[path = "shading_language/harness.rs"]
mod harness;

use harness::{on_devices, Outcome, Source};
use openvm_metal_builder::ConstantValue;
use openvm_metal_common::DeviceKind;

const GROUP: Source = Source::new("group", include_str!("shading_language/group.metal"));

const CONSTANTS: Source = Source {
    constants: &[
        (0, || ConstantValue::Int(5)),
        (1, || ConstantValue::Bool(true)),
        (2, || {
            ConstantValue::Vector(vec![ConstantValue::Int(3), ConstantValue::Int(-1)])
        }),
        (3, || ConstantValue::Float(0.5)),
    ],
    ..Source::new(
        "function_constants",
        include_str!("shading_language/function_constants.metal"),
    )
};

/// Words without a pattern.
fn words(count: usize, seed: u32) -> Vec<u32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(1664525).wrapping_add(1013904223);
        state ^ state >> 15
    };
    (0..count).map(|_| next()).collect()
}

/// `f(element, index)` folded over the lanes before `lane`, that one too if `inclusive`.
fn scan(v: &[u32], lane: usize, inclusive: bool, start: u32, f: fn(u32, u32) -> u32) -> u32 {
    let end = lane + usize::from(inclusive);
    v[..end].iter().fold(start, |a, &b| f(a, b))
}

fn reductions(v: &[u32]) -> [u32; 7] {
    let fold = |start, f: fn(u32, u32) -> u32| v.iter().fold(start, |a, &b| f(a, b));
    [
        fold(0, u32::wrapping_add),
        fold(1, u32::wrapping_mul),
        fold(u32::MAX, u32::min),
        fold(0, u32::max),
        fold(u32::MAX, |a, b| a & b),
        fold(0, |a, b| a | b),
        fold(0, |a, b| a ^ b),
    ]
}

fn scans(v: &[u32], lane: usize) -> [u32; 4] {
    [
        scan(v, lane, true, 0, u32::wrapping_add),
        scan(v, lane, false, 0, u32::wrapping_add),
        scan(v, lane, true, 1, u32::wrapping_mul),
        scan(v, lane, false, 1, u32::wrapping_mul),
    ]
}

fn votes(v: &[u32]) -> (u32, bool, bool) {
    let ballot = v.iter().enumerate().map(|(i, x)| (x & 1) << i).sum();
    let any = v.iter().any(|x| x & 3 == 0);
    (ballot, any, v.iter().all(|x| x & 3 != 3))
}

#[test]
fn simd_groups() -> Outcome<()> {
    on_devices(GROUP, |kernels| {
        for (threads, per_group) in [(32, 32), (256, 64), (1024, 256)] {
            let input = words(threads, per_group);
            let out = kernels.run("simd", &input, 24 * threads, threads, per_group)?;
            for (v, o) in input.chunks_exact(32).zip(out.chunks_exact(24 * 32)) {
                let (ballot, any, all) = votes(v);
                for (lane, o) in o.chunks_exact(24).enumerate() {
                    let mut want = [&reductions(v)[..], &scans(v, lane)].concat();
                    want.extend([
                        v[v[lane] as usize & 31],
                        v[lane ^ 5],
                        v.get(lane + 3).copied().unwrap_or(0),
                        if lane >= 3 { v[lane - 3] } else { 0 },
                        v[(lane + 7) % 32],
                        v[(lane + 25) % 32],
                        v.get(lane + 4).copied().unwrap_or(v[(lane + 4) % 32] ^ 1),
                        if lane >= 4 {
                            v[lane - 4]
                        } else {
                            v[lane + 28] ^ 1
                        },
                        ballot,
                        u32::from(any),
                        u32::from(all),
                        v[9],
                        v[0],
                    ]);
                    assert_eq!(o, want, "lane {lane} of {v:?}");
                }
            }
        }
        Ok(())
    })
}

#[test]
fn quad_groups() -> Outcome<()> {
    on_devices(GROUP, |kernels| {
        let input = words(512, 3);
        let out = kernels.run("quad", &input, 20 * 512, 512, 128)?;
        for (v, o) in input.chunks_exact(4).zip(out.chunks_exact(20 * 4)) {
            let (ballot, any, all) = votes(v);
            for (lane, o) in o.chunks_exact(20).enumerate() {
                let mut want = [&reductions(v)[..], &scans(v, lane)].concat();
                want.extend([
                    v[v[lane] as usize & 3],
                    v[lane ^ 3],
                    v[(lane + 1) % 4],
                    v[(lane + 3) % 4],
                    v.get(lane + 1).copied().unwrap_or(v[0] ^ 1),
                    if lane > 0 { v[lane - 1] } else { v[3] ^ 1 },
                    ballot,
                    u32::from(any) + 2 * u32::from(all),
                    v[2].wrapping_add(v[0]),
                ]);
                assert_eq!(o, want, "lane {lane} of {v:?}");
            }
        }
        Ok(())
    })
}

/// `x y + z` with the products of a row added to `z` in order.
fn product(x: impl Fn(usize, usize) -> f32, y: &[f32], z: impl Fn(usize) -> f32) -> Vec<f32> {
    let element = |i: usize| (0..8).fold(z(i), |s, k| x(i / 8, k).mul_add(y[8 * k + i % 8], s));
    (0..64).map(element).collect()
}

#[test]
fn simd_group_matrices() -> Outcome<()> {
    on_devices(GROUP, |kernels| {
        let groups = 5;
        // Eighths of small integers: halves hold them and sums are exact in any order.
        let values: Vec<f32> = words(192 * groups, 4)
            .iter()
            .map(|w| (*w >> 24) as f32 / 8.0 - 16.0)
            .collect();
        let input: Vec<u32> = values.iter().map(|x| x.to_bits()).collect();
        let out = kernels.run("matrices", &input, 384 * groups, 32 * groups, 32)?;
        let out: Vec<f32> = out.into_iter().map(f32::from_bits).collect();
        for (m, o) in values.chunks_exact(192).zip(out.chunks_exact(384)) {
            let (a, b, c) = (&m[..64], &m[64..128], &m[128..]);
            assert_eq!(
                o[..64],
                product(|r, k| a[8 * r + k], b, |i| c[i]),
                "a b + c"
            );
            assert_eq!(
                o[64..128],
                product(|r, k| a[8 * k + r], b, |_| 0.0),
                "a^T b"
            );
            let transposed: Vec<f32> = (0..64).map(|i| a[i % 8 * 8 + i / 8]).collect();
            assert_eq!(o[128..192], transposed, "a^T");
            for (lane, pair) in o[192..256].chunks_exact(2).enumerate() {
                let (row, column) = (
                    lane / 16 * 4 + lane / 2 % 4,
                    lane / 8 % 2 * 4 + lane % 2 * 2,
                );
                assert_eq!(pair, &a[8 * row + column..][..2], "elements of lane {lane}");
            }
            let twice: Vec<f32> = a.iter().map(|x| 2.0 * x + 1.0).collect();
            assert_eq!(o[256..320], twice, "halves on a diagonal");
            assert_eq!(&o[320..], b, "halves");
        }
        Ok(())
    })
}

#[test]
fn atomics() -> Outcome<()> {
    on_devices(GROUP, |kernels| {
        let (threads, per_group) = (4096, 128);
        let input = words(threads, 5);
        let out = kernels.run("atomics", &input, 8, threads, per_group)?;
        let [sum, _, _, most, _, or, xor] = reductions(&input);
        let signed = input.iter().map(|&x| x as i32).max().unwrap_or(0).max(0);
        let chain = (0..threads).fold(0u32, |x, _| x.wrapping_mul(3).wrapping_add(1));
        let count = (threads as f32).to_bits();
        let want = [
            sum,
            most,
            xor,
            or,
            sum.wrapping_neg(),
            signed as u32,
            count,
            chain,
        ];
        assert_eq!(out, want);
        Ok(())
    })
}

#[test]
fn function_constants_and_casts() -> Outcome<()> {
    on_devices(CONSTANTS, |kernels| {
        if kernels.context.info().kind == DeviceKind::Metal {
            // Metal takes the values when it makes a pipeline, which the run time does not offer.
            return Ok(());
        }
        let input = words(999, 6);
        let out = kernels.run("constants", &input, 4 * 999, 999, 64)?;
        for (v, o) in input.iter().zip(out.chunks_exact(4)) {
            let half = ((v & 0xffff) as f32 * 0.5).to_bits();
            let pair = v.wrapping_mul(3).wrapping_sub(1);
            assert_eq!(o, [v.wrapping_add(12), v.wrapping_neg(), pair, half]);
        }
        let out = kernels.run("casts", &input[..998], 8 * 499, 499, 64)?;
        for (v, o) in input.chunks_exact(2).zip(out.chunks_exact(8)) {
            let [x, y] = [v[0] & 0x7ff, v[1] & 0x7ff];
            let bits = |x: u32| (x as f32).to_bits();
            let want = [
                bits(x),
                bits(y),
                2 * x,
                2 * y,
                x.wrapping_neg(),
                y.wrapping_neg(),
                x,
                y,
            ];
            assert_eq!(o, want);
        }
        Ok(())
    })
}

#[test]
fn a_constant_without_a_value_is_an_error() -> Outcome<()> {
    let source = Source::new(
        "no_constants",
        include_str!("shading_language/function_constants.metal"),
    );
    let error = harness::Kernels::load(openvm_metal_common::Device::Cpu, source).err();
    let text = error.map(|e| e.to_string()).unwrap_or_default();
    let named = ["bool NEGATE (1)", "uint2 PAIR (2)", "float SCALE (3)"];
    assert!(named.iter().all(|n| text.contains(n)), "{text}");
    // The file asks whether these are defined.
    assert!(!text.contains("ADD") && !text.contains("ABSENT"), "{text}");
    Ok(())
}

#[test]
fn everything_compiles_to_ptx() -> Outcome<()> {
    for source in [GROUP, CONSTANTS] {
        harness::ptx(source)?;
    }
    Ok(())
}
