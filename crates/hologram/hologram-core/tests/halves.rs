//! Operations of `f16` and `bf16` through the typed functions.

use half::{bf16, f16};
use hologram_core::ops::{activation, linalg, loss, math, reduce};
use hologram_core::{Executor, Float, Tensor};

/// Numbers between -2 and 2 that both halves hold.
fn data(n: usize, seed: usize) -> Vec<f32> {
    (0..n)
        .map(|i| ((i * 37 + seed * 11) % 65) as f32 / 16.0 - 2.0)
        .collect()
}

fn operations<T: Float>(of: fn(f32) -> T, value: fn(T) -> f32, place: f32) {
    let exec = Executor::new().expect("the CPU's backend");
    let n = 2051;
    let (x, y) = (data(n, 1), data(n, 2));
    let make = |v: &[f32]| {
        let halves: Vec<T> = v.iter().map(|&x| of(x)).collect();
        exec.from_slice(&halves).unwrap()
    };
    let (a, b, c) = (make(&x), make(&y), exec.allocate::<T>(n).unwrap());
    let check = |name: &str, expected: &dyn Fn(usize) -> f32| {
        for (i, got) in c.to_vec().unwrap().into_iter().enumerate() {
            let (got, exact) = (value(got), expected(i));
            let near = (got - exact).abs() <= place * exact.abs();
            assert!(
                near || (got.is_nan() && exact.is_nan()),
                "{name}[{i}]: {got}, not {exact}"
            );
        }
    };
    math::vector_mul(&exec, &a, &b, &c, n).unwrap();
    check("mul", &|i| x[i] * y[i]);
    math::exp(&exec, &a, &c, n).unwrap();
    check("exp", &|i| x[i].exp());
    math::scalar_add(&exec, &a, &c, of(0.5), n).unwrap();
    check("scalar_add", &|i| x[i] + 0.5);
    math::clip(&exec, &a, &c, of(-1.0), of(1.0), n).unwrap();
    check("clip", &|i| x[i].clamp(-1.0, 1.0));
    activation::softmax_rows(&exec, &a, &c, 7, 293).unwrap();
    check("softmax", &|i| {
        let row = &x[i / 293 * 293..][..293];
        let sum: f32 = row.iter().map(|x| x.exp()).sum();
        x[i].exp() / sum
    });
    let out = exec.allocate::<T>(1).unwrap();
    reduce::max(&exec, &a, &out, n).unwrap();
    assert_eq!(value(out.get(0).unwrap()), 2.0);
    loss::mse(&exec, &a, &b, &out, n).unwrap();
    let exact = x
        .iter()
        .zip(&y)
        .map(|(x, y)| (x - y) * (x - y))
        .sum::<f32>()
        / n as f32;
    assert!((value(out.get(0).unwrap()) - exact).abs() <= place * exact);
    linalg::matvec(&exec, &a, &b, &c, 41, 50).unwrap();
    for row in [0, 40] {
        let exact: f32 = (0..50).map(|i| x[row * 50 + i] * y[i]).sum();
        let got = value(c.get(row).unwrap());
        assert!((got - exact).abs() <= place * exact.abs() + 1e-4);
    }
    let square = |v: &[f32]| Tensor::from_buffer(&exec, make(&v[..144]), &[12, 12]).unwrap();
    let product = square(&x).matmul(&square(&y)).unwrap();
    let exact: f32 = (0..12).map(|l| x[l] * y[l * 12]).sum();
    let got = value(product.buffer().get(0).unwrap());
    assert!((got - exact).abs() <= place * exact.abs() + 1e-4);
}

#[test]
fn operations_of_f16() {
    operations::<f16>(f16::from_f32, f16::to_f32, 1e-3);
}

#[test]
fn operations_of_bf16() {
    operations::<bf16>(bf16::from_f32, bf16::to_f32, 8e-3);
}
