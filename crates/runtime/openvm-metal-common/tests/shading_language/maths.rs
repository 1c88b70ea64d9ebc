//! Common, relational and mathematical functions of float and half.

use crate::harness::{on_devices, Kernels, Outcome, Source};
use crate::numbers::{half, near, next_float, next_half, same, Random};

pub const SOURCE: Source = Source::new("math", include_str!("math.metal"));

/// Pairs with edges; no denormal floats, which devices may take for 0.
fn pairs() -> Vec<(f32, f32)> {
    let edges = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.5,
        -3.5,
        6.25e-5,
        1.0e-6,
        1024.0,
        -65504.0,
        1.0e6,
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    let mut out: Vec<(f32, f32)> = edges.iter().flat_map(|&x| edges.map(|y| (x, y))).collect();
    let mut random = Random(6);
    let mut any = || {
        let mantissa = random.next() as u32 & 0x807f_ffff;
        f32::from_bits(mantissa | ((110 + random.below(34) as u32) << 23))
    };
    out.extend((0..700).map(|_| (any(), any())));
    out
}

/// Results of the kernel `exact` that are defined for these arguments.
fn exact(x: f32, y: f32, round: fn(f32) -> f32, is_half: bool) -> Vec<(&'static str, Option<f32>)> {
    let numbers = !x.is_nan() && !y.is_nan();
    let finite = numbers && x.is_finite();
    let some = |v: f32| numbers.then(|| round(v));
    let middle = |a: f32, b: f32, c: f32| a.max(b).min(a.min(b).max(c));
    let (mut m, mut e) = (x, 0);
    if finite && x != 0.0 {
        while m.abs() >= 1.0 {
            m /= 2.0;
            e += 1;
        }
        while m.abs() < 0.5 {
            m *= 2.0;
            e -= 1;
        }
    }
    let next = if is_half { next_half } else { next_float };
    let whole = |v: f32| finite.then_some(v);
    vec![
        ("fabs", Some(x.abs())),
        ("abs", Some(x.abs())),
        ("ceil", Some(x.ceil())),
        ("floor", Some(x.floor())),
        ("trunc", Some(x.trunc())),
        ("round", Some(x.round())),
        ("rint", Some(x.round_ties_even())),
        ("copysign", numbers.then(|| x.copysign(y))),
        ("fmin", Some(x.min(y))),
        ("fmax", Some(x.max(y))),
        ("fdim", some(if x > y { x - y } else { 0.0 })),
        ("fmin3", some(x.min(y).min(0.5))),
        ("fmax3", some(x.max(y).max(0.5))),
        ("median3", some(middle(x, y, 0.5))),
        ("clamp", some(x.clamp(-1.0, 2.0))),
        ("saturate", some(x.clamp(0.0, 1.0))),
        ("step", some(if x < y { 0.0 } else { 1.0 })),
        ("sqrt", Some(round(x.abs().sqrt()))),
        (
            "modf",
            some(if x.is_infinite() { 0.0 } else { x - x.trunc() }),
        ),
        ("modf, whole", Some(x.trunc())),
        ("frexp", whole(m)),
        ("frexp, exponent", whole(f32::from_bits(e as u32))),
        ("ldexp of frexp", whole(x)),
        ("ldexp", Some(round(x * 8.0))),
        ("nextafter", (numbers && x != 0.0).then(|| next(x, y))),
        (
            "ilogb",
            (finite && x != 0.0).then(|| f32::from_bits((e - 1) as u32)),
        ),
    ]
}

fn check_exact(kernels: &Kernels, name: &str, is_half: bool) -> Outcome<()> {
    const WORDS: usize = 27;
    let round: fn(f32) -> f32 = if is_half { half } else { |x| x };
    let pairs = pairs();
    let input: Vec<u32> = pairs
        .iter()
        .flat_map(|p| [p.0.to_bits(), p.1.to_bits()])
        .collect();
    let out = kernels.run(name, &input, pairs.len() * WORDS, pairs.len(), 64)?;
    for (&(x, y), out) in pairs.iter().zip(out.chunks_exact(WORDS)) {
        let (x, y) = (round(x), round(y));
        for ((function, want), &got) in exact(x, y, round, is_half).into_iter().zip(&out[1..]) {
            let Some(want) = want else { continue };
            let got = f32::from_bits(got);
            assert!(
                same(got, want) || got.to_bits() == want.to_bits(),
                "{name}: {function}({x:e}, {y:e}) = {got:e}, not {want:e}, {:?}",
                kernels.device
            );
        }
        assert_eq!(
            out[0], 0,
            "{name}: vectors of {x:e}, {y:e}, {:?}",
            kernels.device
        );
    }
    Ok(())
}

#[test]
fn exact_functions() -> Outcome<()> {
    on_devices(SOURCE, |kernels| {
        check_exact(kernels, "exact_float", false)?;
        check_exact(kernels, "exact_half", true)
    })
}

fn close(x: f64, y: f64) -> Vec<(&'static str, f64)> {
    use std::f64::consts::PI;
    let p = x.abs() + 0.25;
    let q = p / 4.0;
    let t = ((x + 1.0) / 3.0).clamp(0.0, 1.0);
    vec![
        ("sin", x.sin()),
        ("cos", x.cos()),
        ("tan", q.tan()),
        ("asin", q.asin()),
        ("acos", q.acos()),
        ("atan", x.atan()),
        ("atan2", y.atan2(x)),
        ("sinh", x.sinh()),
        ("cosh", x.cosh()),
        ("tanh", x.tanh()),
        ("asinh", x.asinh()),
        ("acosh", (p + 1.0).acosh()),
        ("atanh", q.atanh()),
        ("sinpi", (x * PI).sin()),
        ("cospi", (x * PI).cos()),
        ("tanpi", (q / 2.0 * PI).tan()),
        ("exp", x.exp()),
        ("exp2", x.exp2()),
        ("exp10", 10f64.powf(x)),
        ("log", p.ln()),
        ("log2", p.log2()),
        ("log10", p.log10()),
        ("pow", p.powf(y)),
        ("powr", p * p),
        ("rsqrt", 1.0 / p.sqrt()),
        ("divide", x / p),
        ("fmod", x % 0.75),
        ("fract", p.fract()),
        ("fma", x * y + 1.0),
        ("mix", x + (y - x) * 0.25),
        ("smoothstep", t * t * (3.0 - 2.0 * t)),
        ("sincos", x.sin()),
        ("sincos, cosine", x.cos()),
        ("precise::exp", x.exp()),
    ]
}

#[test]
fn functions_within_a_tolerance() -> Outcome<()> {
    const WORDS: usize = 35;
    // Sixteenths without halves of the divisor of fmod; exact as half.
    let xs = (-24..24).map(|k| f64::from(2 * k + 1) / 16.0);
    let pairs: Vec<(f64, f64)> = xs
        .flat_map(|x| [-2.0, -1.125, -0.5, 0.25, 1.0, 1.75].map(|y| (x, y)))
        .collect();
    let input: Vec<u32> = pairs
        .iter()
        .flat_map(|p| [(p.0 as f32).to_bits(), (p.1 as f32).to_bits()])
        .collect();
    on_devices(SOURCE, |kernels| {
        for (name, tolerance) in [("close_float", 2e-6), ("close_half", 4e-3)] {
            // A GPU's own approximations.
            let floor = if kernels.approximate() { 5e-4 } else { 0.0 };
            let out = kernels.run(name, &input, pairs.len() * WORDS, pairs.len(), 64)?;
            for (&(x, y), out) in pairs.iter().zip(out.chunks_exact(WORDS)) {
                for ((function, want), &got) in close(x, y).into_iter().zip(&out[1..]) {
                    let got = f32::from_bits(got);
                    assert!(
                        near(got, want, f64::max(tolerance, floor)),
                        "{name}: {function} of {x}, {y} = {got:e}, not {want:e}, {:?}",
                        kernels.device
                    );
                }
                assert_eq!(
                    out[0], 0,
                    "{name}: vectors of {x}, {y}, {:?}",
                    kernels.device
                );
            }
        }
        Ok(())
    })
}

#[test]
fn relations() -> Outcome<()> {
    let pairs = pairs();
    let input: Vec<u32> = pairs
        .iter()
        .flat_map(|p| [p.0.to_bits(), p.1.to_bits()])
        .collect();
    let want = |x: f32, y: f32, normal: f32| {
        let unordered = x.is_nan() || y.is_nan();
        let chosen = if x < y { y } else { x };
        let bits = [
            x.is_nan(),
            x.is_infinite(),
            x.is_finite(),
            x.is_finite() && x.abs() >= normal,
            !unordered,
            unordered,
            x.is_sign_negative(),
            x < y,
            // The comparison's opposite, not `>=`: NaN.
            !matches!(x.partial_cmp(&y), Some(std::cmp::Ordering::Less)),
            x.is_nan() || x > 1.0,
        ];
        let shared = bits
            .iter()
            .enumerate()
            .fold(0, |w, (k, &bit)| w | u32::from(bit) << k);
        let less = u32::from(x < y) << 10;
        let selected = u32::from(!chosen.is_nan()) << 12 | 1 << 13;
        (shared | less | selected) << 16 | shared | less
    };
    on_devices(SOURCE, |kernels| {
        let out = kernels.run("kinds_of", &input, input.len(), pairs.len(), 64)?;
        for (&(x, y), out) in pairs.iter().zip(out.chunks_exact(2)) {
            let float = want(x, y, f32::MIN_POSITIVE);
            let short = want(half(x), half(y), 6.103_515_6e-5);
            assert_eq!(out, [float, short], "{x:e}, {y:e}, {:?}", kernels.device);
        }
        Ok(())
    })
}

#[test]
fn edges() -> Outcome<()> {
    let cases = [
        (-1.0e-9f32, 0),
        (-2.0e-7, 0),
        (-0.0, 5),
        (0.75, -3),
        (-2.25, 100),
        (f32::NAN, 1),
        (f32::MIN_POSITIVE, 253),
        (f32::MIN_POSITIVE, 255),
        (f32::MAX, -253),
        (1.0, 128),
        (1.0, -400),
        (-1.5, 1000),
    ];
    let input: Vec<u32> = cases
        .iter()
        .flat_map(|&(x, k)| [x.to_bits(), k as u32])
        .collect();
    on_devices(SOURCE, |kernels| {
        let out = kernels.run("edges", &input, 7 * cases.len(), cases.len(), 32)?;
        for (&(x, k), o) in cases.iter().zip(out.chunks_exact(7)) {
            let fract = (x - x.floor()).min(1.0 - f32::EPSILON / 2.0);
            let saturate = if x > 0.0 { x.min(1.0) } else { 0.0 };
            let sign = if x == 0.0 || x.is_nan() {
                x
            } else {
                x.signum()
            };
            let ldexp = (f64::from(x) * 2f64.powi(k)) as f32;
            let (o, integer) = (
                [o[0], o[1], o[2], o[3], o[4], o[6]].map(f32::from_bits),
                o[5],
            );
            if !x.is_nan() {
                assert_eq!(o[0], fract, "fract({x})");
                assert_eq!(o[5], fract, "fract of a vector of {x}");
                // Halves have numbers of this size.
                let held = x == 0.0 || (x.abs() > 1.0e-7 && x.abs() < 65504.0);
                let near = (o[4] - fract).abs() < 1.0e-3;
                assert!(o[4] < 1.0 && (near || !held), "fract(half {x}) is {}", o[4]);
                assert_eq!(o[2].to_bits(), sign.to_bits(), "sign({x})");
                assert_eq!(o[3].to_bits(), ldexp.to_bits(), "ldexp({x}, {k})");
            }
            assert_eq!(o[1], saturate, "saturate({x})");
            assert_eq!(integer, (x.to_bits() as i32).wrapping_abs() as u32, "abs");
        }
        Ok(())
    })
}
