//! Softmax, layer norm and products of matrices.

use super::*;
use crate::{Epsilon, Ty};

const SHAPES: [(usize, usize); 8] = [
    (0, 5),
    (3, 0),
    (1, 1),
    (5, 3),
    (7, 64),
    (3, 65),
    (2, 1000),
    (600, 129),
];

#[test]
fn softmax() {
    for (rows, cols) in SHAPES {
        let src: Vec<f32> = singles(3, rows * cols).iter().map(|x| x * 40.0).collect();
        let call = Operation::Softmax {
            ty: Ty::F32,
            rows: rows as u32,
            cols: cols as u32,
        };
        let mut out = vec![0.0f32; rows * cols];
        run_on(&call, &mut out, &[&src]).expect("no fault");
        for row in 0..rows {
            let at = row * cols..(row + 1) * cols;
            let max = src[at.clone()].iter().copied().fold(f32::MIN, f32::max);
            let e: Vec<f64> = src[at.clone()]
                .iter()
                .map(|&x| (f64::from(x) - f64::from(max)).exp())
                .collect();
            let sum: f64 = e.iter().sum();
            for (y, e) in out[at].iter().zip(e) {
                assert!(
                    (f64::from(*y) - e / sum).abs() <= 1e-6 * (e / sum) + 1e-40,
                    "{call:?}"
                );
            }
        }
        let mut place = src.clone();
        let written = HostSpan {
            ptr: place.as_mut_ptr().cast(),
            len: place.len() * 4,
        };
        // SAFETY: one span, written in place.
        unsafe { run(&call, &[written, written]) }.expect("no fault");
        assert_eq!(place, out);
    }
    let large = [1000.0f64, 1000.0, f64::NEG_INFINITY];
    let mut out = [0.0; 3];
    let call = Operation::Softmax {
        ty: Ty::F64,
        rows: 1,
        cols: 3,
    };
    run_on(&call, &mut out, &[&large]).expect("no fault");
    assert_eq!(out, [0.5, 0.5, 0.0]);
}

#[test]
fn layer_norm() {
    for (rows, cols) in SHAPES {
        let src: Vec<f32> = singles(3, rows * cols).iter().map(|x| x + 100.0).collect();
        let (gamma, beta) = (singles(4, cols), singles(5, cols));
        let call = Operation::LayerNorm {
            ty: Ty::F32,
            rows: rows as u32,
            cols: cols as u32,
            epsilon: Epsilon::new(1e-5),
        };
        let mut out = vec![0.0f32; rows * cols];
        run_on(&call, &mut out, &[&src, &gamma, &beta]).expect("no fault");
        for row in 0..rows {
            let x: Vec<f64> = src[row * cols..][..cols]
                .iter()
                .map(|&x| x.into())
                .collect();
            let mean = x.iter().sum::<f64>() / cols as f64;
            let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / cols as f64;
            for i in 0..cols {
                let normal = (x[i] - mean) / (variance + 1e-5).sqrt();
                let exact = normal * f64::from(gamma[i]) + f64::from(beta[i]);
                let y = f64::from(out[row * cols + i]);
                assert!(
                    (y - exact).abs() <= 1e-6 * (1.0 + exact.abs()),
                    "{call:?}: {y} {exact}"
                );
            }
        }
    }
}

#[test]
fn gemm() {
    for [m, n, k] in [
        [0, 3, 2],
        [3, 0, 2],
        [3, 4, 0],
        [1, 1, 1],
        [1, 17, 5],
        [17, 1, 5],
        [7, 9, 33],
        [65, 33, 129],
        [130, 70, 257],
    ] {
        let (a, b) = (values(1, m * k), values(2, k * n));
        let exact =
            |i: usize, j: usize| -> f64 { (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum() };
        let call = |ty| Operation::Gemm {
            ty,
            m: m as u32,
            n: n as u32,
            k: k as u32,
        };
        let mut c = vec![f64::NAN; m * n];
        run_on(&call(Ty::F64), &mut c, &[&a, &b]).expect("no fault");
        let (a32, b32): (Vec<f32>, Vec<f32>) = (
            a.iter().map(|&x| x as f32).collect(),
            b.iter().map(|&x| x as f32).collect(),
        );
        let mut c32 = vec![f32::NAN; m * n];
        run_on(&call(Ty::F32), &mut c32, &[&a32, &b32]).expect("no fault");
        for i in 0..m {
            for j in 0..n {
                let exact = exact(i, j);
                assert!((c[i * n + j] - exact).abs() <= 1e-14 * (1 + k) as f64);
                assert!((f64::from(c32[i * n + j]) - exact).abs() <= 2e-6 * (1 + k) as f64);
            }
        }
    }
}
