//! Half floats: conversions against another implementation, operations against those of `f32` rounded once.

use half::{bf16, f16};

use super::super::half::Format;
use super::*;
use crate::{BinaryOp, Epsilon, LossOp, MapOp, ReduceOp, Ty};

const FORMATS: [(Ty, Format); 2] = [(Ty::F16, Format::F16), (Ty::Bf16, Format::Bf16)];

fn exact_value(format: Format, bits: u16) -> f32 {
    match format {
        Format::F16 => f16::from_bits(bits).to_f32(),
        Format::Bf16 => bf16::from_bits(bits).to_f32(),
    }
}

fn exact_bits(format: Format, value: f32) -> u16 {
    match format {
        Format::F16 => f16::from_f32(value).to_bits(),
        Format::Bf16 => bf16::from_f32(value).to_bits(),
    }
}

/// Equal bits, or two NaNs.
fn same(format: Format, x: u16, y: u16) -> bool {
    x == y || (exact_value(format, x).is_nan() && exact_value(format, y).is_nan())
}

/// Halves of every kind; few of them are infinite or NaN.
fn halves(seed: u64, count: usize) -> Vec<u16> {
    let mut next = random(seed);
    (0..count)
        .map(|_| {
            let bits = next();
            match bits >> 60 {
                0 => bits as u16,
                _ => exact_bits(Format::F16, (bits as i32) as f32 / (1u32 << 29) as f32),
            }
        })
        .collect()
}

fn widened(format: Format, src: &[u16]) -> Vec<f32> {
    src.iter().map(|&x| exact_value(format, x)).collect()
}

#[test]
fn every_value_and_every_rounding() {
    for (_, format) in FORMATS {
        let all: Vec<u16> = (0..=u16::MAX).collect();
        let mut values = vec![0.0f32; all.len()];
        // SAFETY: as many elements as the slice has.
        unsafe { format.widen(all.as_ptr(), &mut values) };
        let mut near = Vec::new();
        for (&bits, &value) in all.iter().zip(&values) {
            let exact = exact_value(format, bits);
            let both = [value, format.value(bits.into())];
            assert!(both
                .iter()
                .all(|v| v.to_bits() == exact.to_bits() || (v.is_nan() && exact.is_nan())));
            // Around each value and half way to the next one.
            let next = exact_value(format, bits.wrapping_add(1));
            for x in [value, ((f64::from(value) + f64::from(next)) / 2.0) as f32] {
                near.extend([x.next_down(), x, x.next_up()]);
            }
        }
        near.extend([f32::MIN_POSITIVE, 1e-45, 65519.9, 65520.0, f32::MAX]);
        let mut out = vec![0u16; near.len()];
        // SAFETY: as many elements as the slice has.
        unsafe { format.narrow(&near, out.as_mut_ptr()) };
        for (&x, &bits) in near.iter().zip(&out) {
            let exact = exact_bits(format, x);
            assert!(
                same(format, bits, exact) && same(format, format.bits(x), exact),
                "{x:e}: {bits:#x}, not {exact:#x}"
            );
        }
    }
}

/// The same operation on `f32` with the constants' values.
fn single(operation: Operation, format: Format) -> Operation {
    let wide = |bits: u64| u64::from(exact_value(format, bits as u16).to_bits());
    let ty = Ty::F32;
    match operation {
        Operation::Map { op, count, .. } => Operation::Map { op, ty, count },
        Operation::MapBinary { op, count, .. } => Operation::MapBinary { op, ty, count },
        Operation::MapScalar {
            op, value, count, ..
        } => Operation::MapScalar {
            op,
            ty,
            value: wide(value),
            count,
        },
        Operation::Clip {
            low, high, count, ..
        } => Operation::Clip {
            ty,
            low: wide(low),
            high: wide(high),
            count,
        },
        other => other,
    }
}

#[test]
fn elementwise_operations_are_those_of_f32_rounded() {
    for (ty, format) in FORMATS {
        for count in [0, 1, 2047, 2051, 40_001] {
            let (a, b) = (halves(1, count), halves(2, count));
            let (x, y) = (widened(format, &a), widened(format, &b));
            let n = count as u64;
            let value = exact_bits(format, -1.5).into();
            let mut operations = Vec::new();
            for &op in MapOp::ALL {
                operations.push(Operation::Map { op, ty, count: n });
            }
            for &op in BinaryOp::ALL {
                operations.push(Operation::MapBinary { op, ty, count: n });
                operations.push(Operation::MapScalar {
                    op,
                    ty,
                    value,
                    count: n,
                });
            }
            operations.push(Operation::Clip {
                ty,
                low: value,
                high: exact_bits(format, 0.75).into(),
                count: n,
            });
            for operation in operations {
                let mut out = vec![7u16; count];
                run_on(&operation, &mut out, &[&a, &b]).expect("no fault");
                let mut wide = vec![7.0f32; count];
                run_on(&single(operation, format), &mut wide, &[&x, &y]).expect("no fault");
                for i in 0..count {
                    let expected = exact_bits(format, wide[i]);
                    assert!(same(format, out[i], expected), "{operation:?} at {i}");
                }
            }
        }
    }
}

#[test]
fn in_place() {
    let a = halves(3, 5000);
    let call = Operation::MapBinary {
        op: BinaryOp::Mul,
        ty: Ty::F16,
        count: 5000,
    };
    let mut expected = vec![0; 5000];
    run_on(&call, &mut expected, &[&a, &a]).expect("no fault");
    let mut place = a;
    let written = HostSpan {
        ptr: place.as_mut_ptr().cast(),
        len: 10_000,
    };
    // SAFETY: one span, written in place.
    unsafe { run(&call, &[written; 3]) }.expect("no fault");
    assert_eq!(place, expected);
}

#[test]
fn folds_and_losses() {
    for (ty, format) in FORMATS {
        for count in [0usize, 1, 2049, 100_003] {
            let round = |x: f64| exact_bits(format, x as f32);
            let of = |seed, f: fn(f64) -> f64| -> Vec<u16> {
                values(seed, count)
                    .into_iter()
                    .map(|x| round(f(x)))
                    .collect()
            };
            let number = |&bits: &u16| f64::from(exact_value(format, bits));
            let src = of(1, |x| x);
            let check = |operation: Operation, read: &[&[u16]], expected: f64| {
                let mut out = [0u16];
                run_on(&operation, &mut out, read).expect("no fault");
                let got = number(&out[0]);
                // One place, and what `f32` loses.
                let place = if ty == Ty::F16 { 1e-3 } else { 8e-3 };
                let near = (got - expected).abs() <= 0.51 * place * expected.abs() + 1e-4;
                assert!(
                    near || got == expected || (got.is_nan() && expected.is_nan()),
                    "{operation:?}: {got}, not {expected}"
                );
            };
            let reduce = |op, read: &[u16], expected| {
                let count = read.len() as u64;
                check(Operation::Reduce { op, ty, count }, &[read], expected);
            };
            reduce(ReduceOp::Sum, &src, src.iter().map(number).sum());
            let few = &src[..count.min(9)];
            reduce(ReduceOp::Product, few, few.iter().map(number).product());
            let least = src.iter().map(number).fold(f64::INFINITY, f64::min);
            reduce(ReduceOp::Min, &src, least);
            let most = src.iter().map(number).fold(f64::NEG_INFINITY, f64::max);
            reduce(ReduceOp::Max, &src, most);
            let (p, t) = (of(3, |x| x / 5.0 + 0.5), of(4, |x| f64::from(x > 0.0)));
            let mean = |term: fn(f64, f64) -> f64| {
                let terms = p.iter().zip(&t).map(|(p, t)| term(number(p), number(t)));
                terms.sum::<f64>() / count as f64
            };
            for (op, expected) in [
                (LossOp::Mse, mean(|p, t| (p - t) * (p - t))),
                (LossOp::CrossEntropy, -mean(|p, t| t * p.ln())),
                (
                    LossOp::BinaryCrossEntropy,
                    -mean(|p, t| t * p.ln() + (1.0 - t) * (1.0 - p).ln()),
                ),
            ] {
                let count = count as u64;
                check(Operation::Loss { op, ty, count }, &[&p, &t], expected);
            }
        }
    }
    // A sum that halves cannot count to.
    let ones = vec![exact_bits(Format::F16, 1.0); 60_000];
    let mut out = [0u16];
    let call = Operation::Reduce {
        op: ReduceOp::Sum,
        ty: Ty::F16,
        count: 60_000,
    };
    run_on(&call, &mut out, &[&ones]).expect("no fault");
    assert_eq!(f16::from_bits(out[0]).to_f32(), 60_000.0);
}

/// Operations on rows round once: at most half a place from the result in `f64`.
fn close(format: Format, operation: &Operation, out: &[u16], exact: &[f64]) {
    let place = if format == Format::F16 { 1e-3 } else { 8e-3 };
    for (i, (&bits, &expected)) in out.iter().zip(exact).enumerate() {
        let got = f64::from(exact_value(format, bits));
        let bound = 0.51 * place * expected.abs() + 6e-8;
        assert!(
            (got - expected).abs() <= bound,
            "{operation:?} at {i}: {got}, not {expected}"
        );
    }
}

#[test]
fn rows() {
    for (ty, format) in FORMATS {
        for (rows, cols) in [(0, 5), (3, 0), (1, 1), (7, 33), (600, 129)] {
            let cells = rows * cols;
            let of = |seed, count, scale: f64| -> Vec<u16> {
                let bits = |x: f64| exact_bits(format, (x * scale) as f32);
                values(seed, count).into_iter().map(bits).collect()
            };
            let src = of(1, cells, 4.0);
            let x: Vec<f64> = widened(format, &src).iter().map(|&x| x.into()).collect();
            let call = Operation::Softmax {
                ty,
                rows: rows as u32,
                cols: cols as u32,
            };
            let mut out = vec![0u16; cells];
            run_on(&call, &mut out, &[&src]).expect("no fault");
            let mut exact = Vec::new();
            for row in x.chunks(cols.max(1)) {
                let max = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let sum: f64 = row.iter().map(|x| (x - max).exp()).sum();
                exact.extend(row.iter().map(|x| (x - max).exp() / sum));
            }
            close(format, &call, &out, &exact);
            let mut place = src.clone();
            let written = HostSpan {
                ptr: place.as_mut_ptr().cast(),
                len: 2 * cells,
            };
            // SAFETY: one span, written in place.
            unsafe { run(&call, &[written, written]) }.expect("no fault");
            assert_eq!(place, out);

            let (gamma, beta) = (of(2, cols, 1.0), of(3, cols, 1.0));
            let call = Operation::LayerNorm {
                ty,
                rows: rows as u32,
                cols: cols as u32,
                epsilon: Epsilon::new(1e-3),
            };
            run_on(&call, &mut out, &[&src, &gamma, &beta]).expect("no fault");
            let (g, b) = (widened(format, &gamma), widened(format, &beta));
            let mut exact = Vec::new();
            for row in x.chunks(cols.max(1)) {
                let mean = row.iter().sum::<f64>() / cols as f64;
                let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / cols as f64;
                let scale = (variance + 1e-3).sqrt();
                let scaled = row.iter().zip(g.iter().zip(&b));
                exact.extend(
                    scaled.map(|(x, (&g, &b))| (x - mean) / scale * f64::from(g) + f64::from(b)),
                );
            }
            close(format, &call, &out, &exact);
        }
    }
}

#[test]
fn products() {
    for (ty, format) in FORMATS {
        for [m, n, k] in [
            [0, 3, 2],
            [3, 4, 0],
            [1, 1, 1],
            [17, 1, 5003],
            [1, 1500, 33],
            [37, 41, 70],
            // More than a block along each side.
            [1030, 3, 5],
            [3, 5, 2100],
        ] {
            let small = |seed, count| -> Vec<u16> {
                let bits = |x: f64| exact_bits(format, x as f32);
                values(seed, count).into_iter().map(bits).collect()
            };
            let (a, b) = (small(1, m * k), small(2, k * n));
            let call = Operation::Gemm {
                ty,
                m: m as u32,
                n: n as u32,
                k: k as u32,
            };
            let mut out = vec![9u16; m * n];
            run_on(&call, &mut out, &[&a, &b]).expect("no fault");
            let (x, y) = (widened(format, &a), widened(format, &b));
            for i in 0..m {
                for j in 0..n {
                    let terms = (0..k).map(|l| f64::from(x[i * k + l]) * f64::from(y[l * n + j]));
                    let exact: f64 = terms.sum();
                    let got = f64::from(exact_value(format, out[i * n + j]));
                    let place = if ty == Ty::F16 { 1e-3 } else { 8e-3 };
                    let bound = 0.51 * place * exact.abs() + 1e-6 * (1 + k) as f64;
                    assert!(
                        (got - exact).abs() <= bound,
                        "{call:?} at {i}, {j}: {got}, not {exact}"
                    );
                }
            }
        }
    }
}
