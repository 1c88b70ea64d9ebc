//! Float functions against the standard library's `f64` functions, over the whole range of bits.

use super::*;
use crate::{BinaryOp, MapOp, Ty};

/// Distance in units of the last place of `f32` (`f64`): 0 for equal bits and for two NaNs.
fn ulps32(x: f32, y: f32) -> u64 {
    let order = |x: f32| {
        let bits = i64::from(x.to_bits() as i32);
        if bits < 0 {
            i64::from(i32::MIN) - bits
        } else {
            bits
        }
    };
    match (x.is_nan(), y.is_nan()) {
        (true, true) => 0,
        (false, false) => order(x).abs_diff(order(y)),
        _ => u64::MAX,
    }
}

fn ulps64(x: f64, y: f64) -> u64 {
    let order = |x: f64| {
        let bits = i128::from(x.to_bits() as i64);
        if bits < 0 {
            i128::from(i64::MIN) - bits
        } else {
            bits
        }
    };
    match (x.is_nan(), y.is_nan()) {
        (true, true) => 0,
        (false, false) => u64::try_from(order(x).abs_diff(order(y))).unwrap_or(u64::MAX),
        _ => u64::MAX,
    }
}

fn gelu(x: f64) -> f64 {
    let u = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
    if u < -1.0 {
        // 1 + tanh without cancellation.
        return x / (1.0 + (-2.0 * u).exp());
    }
    0.5 * x * (1.0 + u.tanh())
}

type Function = fn(f64) -> f64;
const FUNCTIONS: [(MapOp, Function, u64, u64); 18] = [
    (MapOp::Abs, f64::abs, 0, 0),
    (MapOp::Neg, |x| -x, 0, 0),
    (MapOp::Exp, f64::exp, 1, 2),
    (MapOp::Log, f64::ln, 1, 2),
    (MapOp::Sqrt, f64::sqrt, 0, 0),
    (MapOp::Rsqrt, |x| 1.0 / x.sqrt(), 0, 0),
    (MapOp::Sin, f64::sin, 1, 2),
    (MapOp::Cos, f64::cos, 1, 2),
    (MapOp::Tan, f64::tan, 1, 4),
    (MapOp::Tanh, f64::tanh, 1, 3),
    (MapOp::Sigmoid, |x| 1.0 / (1.0 + (-x).exp()), 1, 2),
    (MapOp::Relu, |x| if x > 0.0 { x } else { 0.0 }, 0, 0),
    (MapOp::Erf, libm::erf, 1, 0),
    (MapOp::Ceil, f64::ceil, 0, 0),
    (MapOp::Floor, f64::floor, 0, 0),
    (MapOp::Round, f64::round_ties_even, 0, 0),
    (MapOp::Reciprocal, |x| 1.0 / x, 0, 0),
    (MapOp::Gelu, gelu, 1, 4),
];

fn map(op: MapOp, ty: Ty, count: usize) -> Operation {
    Operation::Map {
        op,
        ty,
        count: count as u64,
    }
}

#[test]
fn functions_of_f32() {
    // Every 30,011th bit pattern, values near zero and one, and the edges.
    let mut src: Vec<f32> = (0..u32::MAX / 30_011)
        .map(|i| f32::from_bits(i * 30_011))
        .collect();
    src.extend(singles(4, 20_000));
    src.extend(singles(5, 20_000).iter().map(|x| x * 50.0));
    src.extend([
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::MIN_POSITIVE,
        f32::MAX,
        f32::MIN,
        88.72284,
    ]);
    src.extend([
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        99_999.9,
        100_000.1,
        -1e5,
    ]);
    let mut out = vec![0.0f32; src.len()];
    for (op, function, bound, _) in FUNCTIONS {
        run_on(&map(op, Ty::F32, src.len()), &mut out, &[&src]).expect("no fault");
        for (&x, &y) in src.iter().zip(&out) {
            if op == MapOp::Gelu && x == f32::NEG_INFINITY {
                assert_eq!(y.to_bits(), (-0.0f32).to_bits());
                continue;
            }
            let exact = function(f64::from(x)) as f32;
            assert!(
                ulps32(y, exact) <= bound,
                "{op} of {x:e}: {y:e}, not {exact:e}"
            );
        }
    }
}

#[test]
fn functions_of_f64() {
    let mut next = random(6);
    let mut src: Vec<f64> = (0..30_000).map(|_| f64::from_bits(next())).collect();
    src.extend(values(7, 20_000));
    src.extend(values(8, 20_000).iter().map(|x| x * 400.0));
    src.extend([
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::MIN_POSITIVE,
        f64::MAX,
        5e-324,
        709.782712893384,
    ]);
    src.extend([
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        1e5,
        99_999.9,
        -745.13,
    ]);
    let mut out = vec![0.0f64; src.len()];
    for (op, function, _, bound) in FUNCTIONS {
        run_on(&map(op, Ty::F64, src.len()), &mut out, &[&src]).expect("no fault");
        for (&x, &y) in src.iter().zip(&out) {
            if op == MapOp::Gelu && x == f64::NEG_INFINITY {
                assert_eq!(y.to_bits(), (-0.0f64).to_bits());
                continue;
            }
            let exact = function(x);
            // Rounded several times below the smallest normal number.
            let denormal = exact.abs() < f64::MIN_POSITIVE && y.abs() < f64::MIN_POSITIVE;
            // The exponent of gelu is a cubic: its error counts as often as it is large.
            let bound = match op {
                MapOp::Gelu if x.abs() < 30.0 => bound + 4 + (4.0 * x.abs().powi(3)) as u64,
                _ => bound,
            };
            let ok = ulps64(y, exact) <= bound || (denormal && (y - exact).abs() <= 1e-323);
            assert!(ok, "{op} of {x:e}: {y:e}, not {exact:e}");
        }
    }
}

#[test]
fn powers_and_angles() {
    let edges = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        -3.0,
        0.5,
        -0.5,
        1e30,
        -1e30,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        16_777_217.0,
    ];
    let mut a = Vec::new();
    let mut b = Vec::new();
    for x in edges {
        for y in edges {
            a.push(x);
            b.push(y);
        }
    }
    a.extend(singles(9, 30_000).iter().map(|x| x.abs() * 9.0));
    b.extend(singles(10, 30_000).iter().map(|x| x * 20.0));
    let call = |op, ty| Operation::MapBinary {
        op,
        ty,
        count: a.len() as u64,
    };
    let mut out = vec![0.0f32; a.len()];
    run_on(&call(BinaryOp::Pow, Ty::F32), &mut out, &[&a, &b]).expect("no fault");
    for i in 0..a.len() {
        let exact = f64::from(a[i]).powf(f64::from(b[i])) as f32;
        let (x, y) = (a[i], b[i]);
        assert!(
            ulps32(out[i], exact) <= 1,
            "{x} to {y}: {}, not {exact}",
            out[i]
        );
    }
    run_on(&call(BinaryOp::Atan2, Ty::F32), &mut out, &[&b, &a]).expect("no fault");
    for i in 0..a.len() {
        let exact = f64::from(b[i]).atan2(f64::from(a[i])) as f32;
        assert!(
            ulps32(out[i], exact) <= 1,
            "{} {}: {}, not {exact}",
            b[i],
            a[i],
            out[i]
        );
    }
    let a: Vec<f64> = a.iter().map(|&x| x.into()).collect();
    let b: Vec<f64> = b.iter().map(|&x| x.into()).collect();
    let mut out = vec![0.0f64; a.len()];
    run_on(&call(BinaryOp::Pow, Ty::F64), &mut out, &[&a, &b]).expect("no fault");
    for i in 0..a.len() {
        assert_eq!(ulps64(out[i], a[i].powf(b[i])), 0);
    }
}

#[test]
fn minima_and_maxima_of_floats() {
    let a = [f32::NAN, 1.0, -0.0, 0.0, 2.0, f32::NAN];
    let b = [1.0, f32::NAN, 0.0, -0.0, 3.0, f32::NAN];
    let mut out = [0.0f32; 6];
    for (op, expected) in [
        (BinaryOp::Min, [1.0, 1.0, -0.0, 0.0, 2.0, f32::NAN]),
        (BinaryOp::Max, [1.0, 1.0, -0.0, 0.0, 3.0, f32::NAN]),
    ] {
        let call = Operation::MapBinary {
            op,
            ty: Ty::F32,
            count: 6,
        };
        run_on(&call, &mut out, &[&a, &b]).expect("no fault");
        for i in 0..6 {
            let same = out[i].to_bits() == expected[i].to_bits();
            assert!(
                same || (out[i].is_nan() && expected[i].is_nan()),
                "{op} at {i}"
            );
        }
    }
    let clip = Operation::Clip {
        ty: Ty::F32,
        low: u64::from((-1.0f32).to_bits()),
        high: u64::from(1.5f32.to_bits()),
        count: 6,
    };
    let src = [-3.0, 0.25, 9.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
    run_on(&clip, &mut out, &[&src]).expect("no fault");
    assert_eq!(out[..3], [-1.0, 0.25, 1.5]);
    assert!(out[3].is_nan());
    assert_eq!(out[4..], [1.5, -1.0]);
}
