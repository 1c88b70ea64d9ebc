//! Folds, rows, losses and products.

use hologram_core::ops::{activation, linalg, loss, reduce};

use crate::support::{close, cpu, data, make, SIZES};

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
