//! Places of extremes against plain loops.

use super::*;
use crate::host::half::{bf16_value, f16_value};
use crate::host::tests::random;

/// Shapes, strides in elements of a view of as many elements, and the axis.
fn cases() -> Vec<(Vec<usize>, Vec<isize>, Option<usize>)> {
    let mut cases = Vec::new();
    for n in [1, 2, 63, 64, 65, 4097, 65_537, 300_001] {
        cases.push((vec![n], vec![1], Some(0)));
        cases.push((vec![n], vec![1], None));
    }
    for (rows, cols) in [
        (1, 7),
        (5, 1),
        (3, 70_001),
        (257, 33),
        (4001, 2),
        (3001, 3),
        (700, 12),
        (9, 5001),
        (1000, 300),
    ] {
        let strides = vec![cols as isize, 1];
        let across = vec![1, rows as isize];
        for axis in [Some(0), Some(1), None] {
            cases.push((vec![rows, cols], strides.clone(), axis));
            cases.push((vec![rows, cols], across.clone(), axis));
        }
    }
    for axis in [Some(0), Some(1), Some(2), None] {
        cases.push((vec![31, 20, 17], vec![340, 17, 1], axis));
        cases.push((vec![31, 20, 17], vec![20, 1, 620], axis));
        // A row that is seen many times.
        cases.push((vec![5, 300, 40], vec![0, 40, 1], axis));
        cases.push((vec![5, 300, 40], vec![40, 0, 1], axis));
    }
    cases.push((vec![], vec![], None));
    cases.push((vec![0, 4], vec![4, 1], Some(1)));
    cases
}

/// The place of the first best one, one by one.
fn expected<T: PartialOrd + Copy>(values: impl Iterator<Item = T>, extreme: Extreme) -> i64 {
    let mut best: Option<(T, i64)> = None;
    #[allow(clippy::eq_op, reason = "of NaN")]
    for (index, x) in values.enumerate() {
        let better = best.is_none_or(|(b, _)| match extreme {
            Extreme::Minimum => x < b || (x != x && b == b),
            Extreme::Maximum => x > b || (x != x && b == b),
        });
        if better {
            best = Some((x, index as i64));
        }
    }
    best.expect("an element").1
}

fn check<T: Copy, V: PartialOrd + Copy>(
    ty: Ty,
    mut make: impl FnMut() -> T,
    value: impl Fn(T) -> V,
) {
    for (shape, strides, axis) in cases() {
        let last: usize = shape
            .iter()
            .zip(&strides)
            .map(|(&n, &s)| n.saturating_sub(1) * s as usize)
            .sum();
        let mut data: Vec<T> = (0..=last).map(|_| make()).collect();
        let source = View {
            ptr: data.as_mut_ptr().cast(),
            strides: strides
                .iter()
                .map(|s| s * size_of::<T>() as isize)
                .collect(),
        };
        let at = |index: &[usize]| -> usize {
            index
                .iter()
                .zip(&strides)
                .map(|(&i, &s)| i * s as usize)
                .sum()
        };
        let indices = |shape: &[usize]| -> Vec<Vec<usize>> {
            let count = shape.iter().product();
            let of = |mut i: usize| {
                let mut index = vec![0; shape.len()];
                for d in (0..shape.len()).rev() {
                    index[d] = i % shape[d];
                    i /= shape[d];
                }
                index
            };
            (0..count).map(of).collect()
        };
        let outside: Vec<usize> = match axis {
            Some(axis) => shape
                .iter()
                .enumerate()
                .map(|(d, &n)| if d == axis { 1 } else { n })
                .collect(),
            None => vec![1; shape.len()],
        };
        for extreme in [Extreme::Minimum, Extreme::Maximum] {
            let wanted: Vec<i64> = indices(&outside)
                .into_iter()
                .map(|mut index| match axis {
                    Some(axis) => {
                        let each = (0..shape[axis]).map(|i| {
                            index[axis] = i;
                            value(data[at(&index)])
                        });
                        expected(each.collect::<Vec<_>>().into_iter(), extreme)
                    }
                    None => expected(indices(&shape).iter().map(|i| value(data[at(i)])), extreme),
                })
                .collect();
            for threads in [1, 3] {
                let mut out = vec![i64::MIN; wanted.len() + 1];
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .build()
                    .expect("a pool");
                let target = Shared(out.as_mut_ptr());
                // SAFETY: a view of `data`, and room for the results.
                pool.install(|| unsafe {
                    extreme.positions(ty, &shape, axis, &source, target.at(0))
                });
                assert_eq!(out.pop(), Some(i64::MIN));
                assert_eq!(
                    out, wanted,
                    "{extreme:?} of {ty} {shape:?} {strides:?} {axis:?}"
                );
            }
        }
    }
}

#[test]
fn integers() {
    let mut next = random(1);
    check(Ty::I8, || next() as i8, |x| x);
    let mut next = random(2);
    check(Ty::U16, || next() as u16, |x| x);
    let mut next = random(3);
    check(Ty::I32, || next() as i32 >> 12, |x| x);
    let mut next = random(4);
    check(Ty::U64, || next() | 1 << 63, |x| x);
}

#[test]
fn floats_without_nan() {
    let mut next = random(5);
    check(Ty::F32, || (next() % 5000) as f32 - 2500.0, |x| x);
    // Zeros of both signs are equal.
    let mut next = random(6);
    check(
        Ty::F64,
        || {
            if next().is_multiple_of(2) {
                0.0f64
            } else {
                -0.0
            }
        },
        |x| x,
    );
    check(Ty::F32, || f32::NEG_INFINITY, |x| x);
    check(Ty::F32, || f32::INFINITY, |x| x);
}

#[test]
fn the_first_nan_is_both() {
    let mut next = random(7);
    let mut number = move || next();
    check(
        Ty::F32,
        || match number() {
            bits if bits % 3000 == 0 => f32::from_bits(0xffc0_0000),
            bits => (bits >> 40) as f32,
        },
        |x| x,
    );
    check(Ty::F64, || f64::NAN, |x| x);
}

#[test]
fn halves() {
    let mut next = random(8);
    check(Ty::F16, || next() as u16 & 0x83ff | 0x3800, f16_value);
    let mut next = random(9);
    check(Ty::Bf16, || next() as u16, bf16_value);
}
