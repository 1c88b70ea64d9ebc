//! Reductions and losses.

use super::*;
use crate::{LossOp, ReduceOp, Ty};

fn reduce(op: ReduceOp, ty: Ty, count: usize) -> Operation {
    Operation::Reduce {
        op,
        ty,
        count: count as u64,
    }
}

#[test]
fn reductions() {
    for count in SIZES {
        let mut next = random(count as u64);
        let integers: Vec<i32> = (0..count).map(|_| next() as i32 | 1).collect();
        let wide =
            |fold: fn(i32, i32) -> i32, start| integers.iter().fold(start, |a, &b| fold(a, b));
        for (op, expected) in [
            (ReduceOp::Sum, wide(i32::wrapping_add, 0)),
            (ReduceOp::Product, wide(i32::wrapping_mul, 1)),
            (ReduceOp::Min, wide(i32::min, i32::MAX)),
            (ReduceOp::Max, wide(i32::max, i32::MIN)),
        ] {
            let mut out = [0i32];
            run_on(&reduce(op, Ty::I32, count), &mut out, &[&integers]).expect("no fault");
            assert_eq!(out[0], expected, "{op} of {count}");
        }
        let floats = singles(count as u64, count);
        let mut out = [0.0f32];
        run_on(&reduce(ReduceOp::Sum, Ty::F32, count), &mut out, &[&floats]).expect("no fault");
        let exact: f64 = floats.iter().map(|&x| f64::from(x)).sum();
        let magnitude: f64 = floats.iter().map(|&x| f64::from(x.abs())).sum();
        // Pairwise: the error grows with the logarithm of the count, not with the count.
        assert!(
            (f64::from(out[0]) - exact).abs() <= 1e-6 * magnitude,
            "{count}"
        );
        run_on(&reduce(ReduceOp::Min, Ty::F32, count), &mut out, &[&floats]).expect("no fault");
        assert_eq!(out[0], floats.iter().copied().fold(f32::INFINITY, f32::min));
        run_on(&reduce(ReduceOp::Max, Ty::F32, count), &mut out, &[&floats]).expect("no fault");
        assert_eq!(
            out[0],
            floats.iter().copied().fold(f32::NEG_INFINITY, f32::max)
        );
    }
    let small: Vec<f64> = (0..100).map(|i| 1.0 + f64::from(i) * 1e-3).collect();
    let mut out = [0.0];
    run_on(
        &reduce(ReduceOp::Product, Ty::F64, 100),
        &mut out,
        &[&small],
    )
    .expect("no fault");
    let exact: f64 = small.iter().product();
    assert!((out[0] / exact - 1.0).abs() < 1e-13);
}

#[test]
fn nans_are_left_out_of_extremes_and_kept_in_sums() {
    let src = [f32::NAN, 3.0, f32::NAN, -1.0];
    let mut out = [0.0f32];
    let mut of = |op| {
        run_on(&reduce(op, Ty::F32, 4), &mut out, &[&src]).expect("no fault");
        out[0]
    };
    assert_eq!(of(ReduceOp::Min), -1.0);
    assert_eq!(of(ReduceOp::Max), 3.0);
    assert!(of(ReduceOp::Sum).is_nan());
}

#[test]
fn sums_do_not_depend_on_threads() {
    let floats = singles(1, 500_000);
    let sum = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool");
        let mut out = [0.0f32];
        pool.install(|| {
            run_on(
                &reduce(ReduceOp::Sum, Ty::F32, 500_000),
                &mut out,
                &[&floats],
            )
            .expect("no fault");
        });
        out[0].to_bits()
    };
    assert_eq!(sum(1), sum(3));
}

#[test]
fn losses() {
    for count in SIZES {
        let unit =
            |seed| -> Vec<f32> { singles(seed, count).iter().map(|x| x / 4.0 + 0.5).collect() };
        let (mut p, mut t) = (unit(1), unit(2));
        for i in (0..count).step_by(5) {
            // Certain, and right.
            p[i] = (i % 2) as f32;
            t[i] = p[i];
        }
        let mean = |term: &dyn Fn(f64, f64) -> f64| {
            let sum: f64 = p
                .iter()
                .zip(&t)
                .map(|(&p, &t)| term(p.into(), t.into()))
                .sum();
            sum / count as f64
        };
        let log = |t: f64, p: f64| if t == 0.0 { 0.0 } else { t * p.ln() };
        for (op, expected) in [
            (LossOp::Mse, mean(&|p, t| (p - t).powi(2))),
            (LossOp::CrossEntropy, -mean(&|p, t| log(t, p))),
            (
                LossOp::BinaryCrossEntropy,
                -mean(&|p, t| log(t, p) + log(1.0 - t, 1.0 - p)),
            ),
        ] {
            let mut out = [0.0f32];
            let call = Operation::Loss {
                op,
                ty: Ty::F32,
                count: count as u64,
            };
            run_on(&call, &mut out, &[&p, &t]).expect("no fault");
            let close = (f64::from(out[0]) - expected).abs() <= 1e-6 * expected.abs();
            assert!(
                close || (count == 0 && out[0].is_nan()),
                "{call:?}: {} {expected}",
                out[0]
            );
        }
    }
}
