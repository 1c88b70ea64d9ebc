//! Operations against plain loops, at sizes that fill no vector.

use hologram_backends::{BackendError, BinaryOp};
use hologram_core::ops::{activation, linalg, loss, math, memory, raw, reduce};
use hologram_core::{Buffer, Element, Error, Executor, Float, Number, Signed};

const SIZES: [usize; 6] = [0, 1, 7, 64, 1001, 70_003];

fn cpu() -> Executor {
    Executor::new().expect("the CPU's backend")
}

/// Numbers between -4 and 4, with steps of 1/16.
fn data(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((state >> 40) % 129) as f64 / 16.0 - 4.0
        })
        .collect()
}

/// Numbers that tests make from `f64` and compare as such.
trait Sample: Element {
    fn of(x: f64) -> Self;
    fn value(self) -> f64;
}

macro_rules! sample {
    ($($t:ty)*) => {$(
        impl Sample for $t {
            fn of(x: f64) -> Self {
                x as $t
            }
            fn value(self) -> f64 {
                self as f64
            }
        }
    )*};
}

sample!(f32 f64 i32 i64 u32);

fn make<T: Sample>(exec: &Executor, values: &[f64]) -> (Buffer<T>, Vec<f64>) {
    let values: Vec<T> = values.iter().map(|&x| T::of(x)).collect();
    let buffer = exec.from_slice(&values).unwrap();
    (buffer, values.into_iter().map(T::value).collect())
}

fn close<T: Sample>(name: &str, actual: &Buffer<T>, expected: &[f64], tolerance: f64) {
    let actual = actual.to_vec().unwrap();
    assert_eq!(actual.len(), expected.len());
    for (i, (&a, &e)) in actual.iter().zip(expected).enumerate() {
        let (a, e) = (a.value(), T::of(e).value());
        let near =
            a == e || (a.is_nan() && e.is_nan()) || (a - e).abs() <= tolerance * (1.0 + e.abs());
        assert!(near, "{name}[{i}]: {a}, expected {e}");
    }
}

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

#[test]
fn folds_and_losses() {
    let exec = cpu();
    for n in SIZES {
        let (a, x) = make::<f64>(&exec, &data(n, 5));
        let out = exec.allocate::<f64>(1).unwrap();
        reduce::sum(&exec, &a, &out, n).unwrap();
        close("sum", &out, &[x.iter().sum()], 1e-9);
        reduce::min(&exec, &a, &out, n).unwrap();
        close(
            "min",
            &out,
            &[x.iter().copied().fold(f64::INFINITY, f64::min)],
            0.0,
        );
        reduce::max(&exec, &a, &out, n).unwrap();
        close(
            "max",
            &out,
            &[x.iter().copied().fold(f64::NEG_INFINITY, f64::max)],
            0.0,
        );
        let few = n.min(9);
        reduce::product(&exec, &a, &out, few).unwrap();
        close("product", &out, &[x[..few].iter().product()], 1e-12);
        let (p, probability) =
            make::<f64>(&exec, &x.iter().map(|x| x / 10.0 + 0.5).collect::<Vec<_>>());
        let (t, target) = make::<f64>(
            &exec,
            &x.iter().map(|&x| f64::from(x > 0.0)).collect::<Vec<_>>(),
        );
        let mean = |f: fn(f64, f64) -> f64| {
            probability
                .iter()
                .zip(&target)
                .map(|(&p, &t)| f(p, t))
                .sum::<f64>()
                / n as f64
        };
        loss::mse(&exec, &p, &t, &out, n).unwrap();
        close("mse", &out, &[mean(|p, t| (p - t) * (p - t))], 1e-9);
        loss::cross_entropy(&exec, &p, &t, &out, n).unwrap();
        close("cross_entropy", &out, &[mean(|p, t| -t * p.ln())], 1e-9);
        loss::binary_cross_entropy(&exec, &p, &t, &out, n).unwrap();
        let expected = mean(|p, t| -(t * p.ln() + (1.0 - t) * (1.0 - p).ln()));
        close("binary_cross_entropy", &out, &[expected], 1e-9);
    }
    let (a, _) = make::<i32>(&exec, &[3.0, -9.0, 4.0]);
    let out = exec.allocate::<i32>(1).unwrap();
    reduce::sum(&exec, &a, &out, 3).unwrap();
    assert_eq!(out.get(0), Ok(-2));
}

#[test]
fn rows_and_products() {
    let exec = cpu();
    let (rows, cols) = (5, 77);
    let (a, x) = make::<f32>(&exec, &data(rows * cols, 6));
    let c = exec.allocate::<f32>(rows * cols).unwrap();
    activation::softmax_rows(&exec, &a, &c, rows, cols).unwrap();
    let mut expected = Vec::new();
    for row in x.chunks(cols) {
        let sum: f64 = row.iter().map(|x| x.exp()).sum();
        expected.extend(row.iter().map(|x| x.exp() / sum));
    }
    close("softmax", &c, &expected, 1e-6);
    let (gamma, g) = make::<f32>(&exec, &data(cols, 7));
    let (beta, b) = make::<f32>(&exec, &data(cols, 8));
    let norm = activation::LayerNorm {
        input: &a,
        gamma: &gamma,
        beta: &beta,
        output: &c,
        rows,
        cols,
        epsilon: 1e-5,
    };
    activation::layer_norm(&exec, norm).unwrap();
    let mut expected = Vec::new();
    for row in x.chunks(cols) {
        let mean = row.iter().sum::<f64>() / cols as f64;
        let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / cols as f64;
        let scale = (variance + 1e-5).sqrt();
        expected.extend(
            row.iter()
                .zip(g.iter().zip(&b))
                .map(|(x, (g, b))| (x - mean) / scale * g + b),
        );
    }
    close("layer_norm", &c, &expected, 1e-5);
    for (m, k, n) in [
        (1, 1, 1),
        (5, 7, 3),
        (33, 70, 41),
        (4, 0, 3),
        (0, 4, 3),
        (64, 129, 1),
    ] {
        let (a, x) = make::<f64>(&exec, &data(m * k, 9));
        let (b, y) = make::<f64>(&exec, &data(k * n, 10));
        let c = exec.from_slice(&vec![9.0; m * n]).unwrap();
        linalg::gemm(&exec, &a, &b, &c, m, k, n).unwrap();
        let mut expected = vec![0.0; m * n];
        for i in 0..m {
            for j in 0..n {
                expected[i * n + j] = (0..k).map(|l| x[i * k + l] * y[l * n + j]).sum();
            }
        }
        close("gemm", &c, &expected, 1e-12);
        if n == 1 {
            linalg::matvec(&exec, &a, &b, &c, m, k).unwrap();
            close("matvec", &c, &expected, 1e-12);
        }
    }
}

#[test]
fn conversions() {
    use half::{bf16, f16};
    let exec = cpu();
    let n = 1001;
    let (a, x) = make::<f32>(&exec, &data(n, 11));
    let half = exec.allocate::<f16>(n).unwrap();
    memory::cast(&exec, &a, &half, n).unwrap();
    let expected: Vec<f16> = x.iter().map(|&x| f16::from_f64(x)).collect();
    assert_eq!(half.to_vec().unwrap(), expected);
    let brain = exec.allocate::<bf16>(n).unwrap();
    memory::cast(&exec, &half, &brain, n).unwrap();
    let expected: Vec<bf16> = expected
        .iter()
        .map(|x| bf16::from_f32(x.to_f32()))
        .collect();
    assert_eq!(brain.to_vec().unwrap(), expected);
    let whole = exec.allocate::<i32>(n).unwrap();
    memory::cast(&exec, &a, &whole, n).unwrap();
    close(
        "cast",
        &whole,
        &x.iter().map(|x| x.trunc()).collect::<Vec<_>>(),
        0.0,
    );
    let same = exec.allocate::<f32>(n).unwrap();
    memory::cast(&exec, &a, &same, n).unwrap();
    close("cast", &same, &x, 0.0);
    assert!(memory::cast(&exec, &a, &whole, n + 1).is_err());
    assert!(memory::cast(&cpu(), &a, &whole, n).is_err());
    memory::cast(&exec, &a, &whole, 0).unwrap();
    // One pass over the host's memory each, and no program.
    memory::cast(&exec, &a, &whole, 7).unwrap();
    assert_eq!((exec.stats().expressions, exec.stats().programs), (4, 0));
}

#[test]
fn bad_operands_are_errors() {
    let exec = cpu();
    let a = exec.allocate::<f32>(4).unwrap();
    let short = exec.allocate::<f32>(3).unwrap();
    let foreign = cpu().allocate::<f32>(4).unwrap();
    let few = |argument| Error::BufferTooSmall {
        argument,
        needed: 4,
        len: 3,
    };
    assert_eq!(math::vector_add(&exec, &short, &a, &a, 4), Err(few("a")));
    assert_eq!(math::vector_add(&exec, &a, &short, &a, 4), Err(few("b")));
    assert_eq!(math::vector_add(&exec, &a, &a, &short, 4), Err(few("c")));
    let other = Error::ForeignBuffer { argument: "b" };
    assert_eq!(math::vector_add(&exec, &a, &foreign, &a, 4), Err(other));
    assert!(linalg::gemm(&exec, &a, &a, &short, 2, 2, 2).is_err());
    // Who writes into what is read is told the arguments' names, not handles.
    let b = exec.allocate::<f32>(4).unwrap();
    let aliased = |output, input| Err(Error::Aliased { output, input });
    assert_eq!(linalg::gemm(&exec, &a, &b, &a, 2, 2, 2), aliased("c", "a"));
    assert_eq!(linalg::gemm(&exec, &a, &b, &b, 2, 2, 2), aliased("c", "b"));
    assert_eq!(memory::copy(&exec, &a, &a), aliased("dst", "src"));
    let shifted = raw::map2(
        &exec,
        BinaryOp::Add,
        a.slice(0, 3).unwrap(),
        b.slice(0, 3).unwrap(),
        b.slice(1, 3).unwrap(),
        3,
    );
    assert_eq!(shifted, aliased("c", "b"));
    let norm = raw::LayerNorm {
        input: a.span(),
        gamma: b.span(),
        beta: b.span(),
        output: a.span(),
        rows: 1,
        cols: 4,
        epsilon: -1.0,
    };
    let message = raw::layer_norm(&exec, norm).unwrap_err().to_string();
    assert_eq!(message, "epsilon: -1, must be finite and not negative");
    assert!(matches!(
        linalg::gemm(&exec, &a, &a, &short, usize::MAX, 2, 2),
        Err(Error::TooLarge { .. })
    ));
    assert!(memory::copy(&exec, &a, &short).is_err());
    assert!(memory::copy(&exec, &a, &a).is_err());
    let none = exec.allocate::<f32>(0).unwrap();
    assert!(reduce::sum(&exec, &a, &none, 4).is_err());
    let zero = exec.from_slice(&[0i32; 4]).unwrap();
    let fault = math::vector_div(&exec, &zero, &zero, &zero, 4);
    assert!(
        matches!(fault, Err(Error::Backend(BackendError::Fault(_)))),
        "{fault:?}"
    );
}
