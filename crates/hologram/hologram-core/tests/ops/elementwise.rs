//! Elementwise operations.

use hologram_core::ops::{activation, math, memory};
use hologram_core::{Buffer, Executor, Float, Number, Signed};

use crate::support::{close, cpu, data, make, Sample, SIZES};

type Binary<T> =
    fn(&Executor, &Buffer<T>, &Buffer<T>, &Buffer<T>, usize) -> hologram_core::Result<()>;

type Unary<T> = fn(&Executor, &Buffer<T>, &Buffer<T>, usize) -> hologram_core::Result<()>;

fn check_binary<T: Sample + Number>(name: &str, op: Binary<T>, expected: fn(f64, f64) -> f64) {
    let exec = cpu();
    for n in SIZES {
        let (a, x) = make::<T>(&exec, &data(n, 1));
        let divisors: Vec<f64> = data(n, 2)
            .iter()
            .map(|&y| if y.abs() < 1.0 { 2.0 } else { y })
            .collect();
        let (b, y) = make::<T>(&exec, &divisors);
        let c = exec.allocate::<T>(n).unwrap();
        op(&exec, &a, &b, &c, n).unwrap();
        let result: Vec<f64> = x.iter().zip(&y).map(|(&x, &y)| expected(x, y)).collect();
        close(name, &c, &result, 1e-6);
        // In place.
        op(&exec, &a, &b, &a, n).unwrap();
        close(name, &a, &result, 1e-6);
    }
}

fn check_unary<T: Sample + Number>(
    name: &str,
    op: Unary<T>,
    expected: fn(f64) -> f64,
    tolerance: f64,
) {
    let exec = cpu();
    for n in SIZES {
        let (a, x) = make::<T>(&exec, &data(n, 3));
        let c = exec.allocate::<T>(n).unwrap();
        op(&exec, &a, &c, n).unwrap();
        let result: Vec<f64> = x.iter().map(|&x| expected(x)).collect();
        close(name, &c, &result, tolerance);
        op(&exec, &a, &a, n).unwrap();
        close(name, &a, &result, tolerance);
    }
}

fn arithmetic<T: Sample + Signed>() {
    check_binary::<T>("add", math::vector_add, |x, y| x + y);
    check_binary::<T>("sub", math::vector_sub, |x, y| x - y);
    check_binary::<T>("mul", math::vector_mul, |x, y| x * y);
    check_binary::<T>("min", math::min, f64::min);
    check_binary::<T>("max", math::max, f64::max);
    check_unary::<T>("abs", math::abs, f64::abs, 0.0);
    check_unary::<T>("neg", math::neg, |x| -x, 0.0);
    check_unary::<T>("relu", math::relu, |x| x.max(0.0), 0.0);
}

#[test]
fn arithmetic_of_all_kinds() {
    arithmetic::<f32>();
    arithmetic::<f64>();
    arithmetic::<i32>();
    arithmetic::<i64>();
    check_binary::<f32>("div", math::vector_div, |x, y| x / y);
    check_binary::<i32>("div", math::vector_div, |x, y| (x / y).trunc());
    check_binary::<u32>("add", math::vector_add, |x, y| x + y);
}

fn functions<T: Sample + Float>(tolerance: f64) {
    check_unary::<T>("exp", math::exp, f64::exp, tolerance);
    check_unary::<T>("sqrt", math::sqrt, f64::sqrt, tolerance);
    check_unary::<T>("log", math::log, f64::ln, tolerance);
    check_unary::<T>("sin", math::sin, f64::sin, tolerance);
    check_unary::<T>("cos", math::cos, f64::cos, tolerance);
    check_unary::<T>("ceil", math::ceil, f64::ceil, 0.0);
    check_unary::<T>("floor", math::floor, f64::floor, 0.0);
    check_unary::<T>("round", math::round, f64::round_ties_even, 0.0);
    check_unary::<T>("reciprocal", math::reciprocal, f64::recip, tolerance);
    check_unary::<T>("tanh", activation::tanh, f64::tanh, tolerance);
    check_unary::<T>(
        "sigmoid",
        activation::sigmoid,
        |x| 1.0 / (1.0 + (-x).exp()),
        tolerance,
    );
    let gelu = |x: f64| {
        let inner = (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
        0.5 * x * (1.0 + inner.tanh())
    };
    check_unary::<T>("gelu", activation::gelu, gelu, tolerance);
}

#[test]
fn functions_of_floats() {
    functions::<f32>(2e-6);
    functions::<f64>(1e-12);
}

#[test]
fn scalars_and_bounds() {
    let exec = cpu();
    for n in SIZES {
        let (a, x) = make::<f32>(&exec, &data(n, 4));
        let c = exec.allocate::<f32>(n).unwrap();
        math::scalar_add(&exec, &a, &c, 0.5, n).unwrap();
        close(
            "scalar_add",
            &c,
            &x.iter().map(|x| x + 0.5).collect::<Vec<_>>(),
            0.0,
        );
        math::scalar_mul(&exec, &a, &c, -2.0, n).unwrap();
        close(
            "scalar_mul",
            &c,
            &x.iter().map(|x| x * -2.0).collect::<Vec<_>>(),
            0.0,
        );
        math::scalar_sub(&exec, &a, &c, 1.0, n).unwrap();
        close(
            "scalar_sub",
            &c,
            &x.iter().map(|x| x - 1.0).collect::<Vec<_>>(),
            0.0,
        );
        math::scalar_div(&exec, &a, &c, 2.0, n).unwrap();
        close(
            "scalar_div",
            &c,
            &x.iter().map(|x| x / 2.0).collect::<Vec<_>>(),
            0.0,
        );
        math::clip(&exec, &a, &c, -1.0, 1.5, n).unwrap();
        close(
            "clip",
            &c,
            &x.iter().map(|x| x.clamp(-1.0, 1.5)).collect::<Vec<_>>(),
            0.0,
        );
        memory::fill(&exec, &c, 3.0).unwrap();
        close("fill", &c, &vec![3.0; n], 0.0);
        memory::copy(&exec, &a, &c).unwrap();
        close("copy", &c, &x, 0.0);
    }
}
