//! Operations of tensors against loops over index arithmetic, on odd, tiny and long shapes, of views as they lie.

use half::f16;
use hologram_core::{Element, Error, Executor, Tensor};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A number from a place, different for neighbours.
fn number(i: usize, seed: u64) -> u64 {
    let mixed = (i as u64 + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(seed);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40
}

fn floats(n: usize, seed: u64) -> Vec<f32> {
    (0..n)
        .map(|i| (number(i, seed) % 2001) as f32 / 250.0 - 4.0)
        .collect()
}

fn integers(n: usize, seed: u64) -> Vec<i32> {
    (0..n).map(|i| (number(i, seed) % 41) as i32 - 20).collect()
}

/// Places of a shape that a linear index names.
fn places(mut linear: usize, shape: &[usize]) -> Vec<usize> {
    let mut out = vec![0; shape.len()];
    for (place, &extent) in out.iter_mut().zip(shape).rev() {
        *place = linear % extent;
        linear /= extent;
    }
    out
}

fn linear(places: &[usize], shape: &[usize]) -> usize {
    places.iter().zip(shape).fold(0, |at, (&p, &n)| at * n + p)
}

/// The element of row-major data that a broadcast to `shape` has at a place.
fn broadcast<T: Copy>(data: &[T], own: &[usize], at: &[usize]) -> T {
    let at = &at[at.len() - own.len()..];
    let own_at: Vec<usize> = at
        .iter()
        .zip(own)
        .map(|(&p, &n)| if n == 1 { 0 } else { p })
        .collect();
    data[linear(&own_at, own)]
}

const SHAPES: [(&[usize], &[usize], &[usize]); 6] = [
    (&[], &[], &[]),
    (&[1], &[3], &[3]),
    (&[3, 5, 7], &[5, 1], &[3, 5, 7]),
    (&[4, 1, 2], &[3, 1], &[4, 3, 2]),
    (&[65_537], &[1], &[65_537]),
    (&[0, 3], &[3], &[0, 3]),
];

fn shapes() -> impl Iterator<Item = (Vec<usize>, Vec<usize>, Vec<usize>)> {
    SHAPES
        .iter()
        .map(|(a, b, c)| (a.to_vec(), b.to_vec(), c.to_vec()))
}

fn len(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Compares `found` with `want` of both operands at each place.
fn check<T: Element, R: Element>(
    (a, a_shape): (&[T], &[usize]),
    (b, b_shape): (&[T], &[usize]),
    found: &Tensor<R>,
    want: impl Fn(T, T) -> R,
) -> Outcome {
    let shape = found.shape().to_vec();
    for (i, found) in found.to_vec()?.into_iter().enumerate() {
        let at = places(i, &shape);
        let want = want(broadcast(a, a_shape, &at), broadcast(b, b_shape, &at));
        assert!(
            found == want,
            "{found:?} is not {want:?} at {at:?} of {shape:?}"
        );
    }
    Ok(())
}

#[test]
fn integers_of_two_tensors() -> Outcome {
    let exec = Executor::new()?;
    for (a_shape, b_shape, shape) in shapes() {
        let (a, b) = (integers(len(&a_shape), 1), integers(len(&b_shape), 2));
        let x = Tensor::from_slice(&exec, &a, &a_shape)?;
        let y = Tensor::from_slice(&exec, &b, &b_shape)?;
        assert_eq!(x.add(&y)?.shape(), shape);
        let both = |found: Tensor<i32>, want: fn(i32, i32) -> i32| {
            check((&a, &a_shape), (&b, &b_shape), &found, want)
        };
        both(x.add(&y)?, |a, b| a + b)?;
        both(x.sub(&y)?, |a, b| a - b)?;
        both(x.mul(&y)?, |a, b| a * b)?;
        both(x.floor_div(&y)?, |a, b| match b {
            0 => 0,
            _ => (f64::from(a) / f64::from(b)).floor() as i32,
        })?;
        both(x.remainder(&y)?, |a, b| match b {
            0 => 0,
            _ => a - b * (f64::from(a) / f64::from(b)).floor() as i32,
        })?;
        both(x.maximum(&y)?, i32::max)?;
        both(x.minimum(&y)?, i32::min)?;
        both(x.bit_and(&y)?, |a, b| a & b)?;
        both(x.bit_or(&y)?, |a, b| a | b)?;
        both(x.bit_xor(&y)?, |a, b| a ^ b)?;
        let truths = |found: Tensor<u8>, want: fn(&i32, &i32) -> bool| {
            check((&a, &a_shape), (&b, &b_shape), &found, |a, b| {
                u8::from(want(&a, &b))
            })
        };
        truths(x.equal(&y)?, i32::eq)?;
        truths(x.not_equal(&y)?, i32::ne)?;
        truths(x.less(&y)?, i32::lt)?;
        truths(x.less_equal(&y)?, i32::le)?;
        truths(x.greater(&y)?, i32::gt)?;
        truths(x.greater_equal(&y)?, i32::ge)?;
        let chosen = x.less(&y)?.choose(&x, &y)?;
        check((&a, &a_shape), (&b, &b_shape), &chosen, |a, b| {
            if a < b {
                a
            } else {
                b
            }
        })?;
    }
    Ok(())
}

#[test]
fn shifts_and_bits() -> Outcome {
    let exec = Executor::new()?;
    let x = Tensor::from_slice(&exec, &[-8i16, 7, 1, -1], &[4])?;
    let by = Tensor::from_slice(&exec, &[1i16, 2, 16, 20], &[4])?;
    assert_eq!(x.shift_left(&by)?.to_vec()?, [-16, 28, 0, 0]);
    assert_eq!(x.shift_right(&by)?.to_vec()?, [-4, 1, 0, -1]);
    assert_eq!(x.bit_not()?.to_vec()?, [7, -8, -2, 0]);
    assert_eq!(x.sign()?.to_vec()?, [-1, 1, 1, -1]);
    assert_eq!(x.abs()?.to_vec()?, [8, 7, 1, 1]);
    assert_eq!(x.neg()?.relu()?.to_vec()?, [8, 0, 0, 1]);
    Ok(())
}

#[test]
fn floats_of_views_as_they_lie() -> Outcome {
    let exec = Executor::new()?;
    for shape in [[3usize, 5, 7], [1, 1, 1], [33, 4, 501]] {
        let data = floats(len(&shape), 3);
        let whole = Tensor::from_slice(&exec, &data, &shape)?;
        let view = whole.permute(&[2, 0, 1])?.flip(0)?;
        let want: Vec<f32> = view.to_vec()?;
        let each = |found: Tensor<f32>, f: fn(f32) -> f32| -> Outcome {
            assert_eq!(found.shape(), view.shape());
            for (found, &x) in found.to_vec()?.into_iter().zip(&want) {
                let want = f(x);
                let close = found == want || (found - want).abs() <= 1e-5 * want.abs().max(1.0);
                assert!(
                    close || (found.is_nan() && want.is_nan()),
                    "{found} is not {want} of {x}"
                );
            }
            Ok(())
        };
        each(view.exp()?, f32::exp)?;
        each(view.log()?, f32::ln)?;
        each(view.sqrt()?, f32::sqrt)?;
        each(view.abs()?.rsqrt()?, |x| 1.0 / x.abs().sqrt())?;
        each(view.sin()?, f32::sin)?;
        each(view.cos()?, f32::cos)?;
        each(view.tanh()?, f32::tanh)?;
        each(view.sigmoid()?, |x| 1.0 / (1.0 + (-x).exp()))?;
        each(view.ceil()?, f32::ceil)?;
        each(view.floor()?, f32::floor)?;
        each(view.round()?, f32::round_ties_even)?;
        each(view.trunc()?, f32::trunc)?;
        each(view.neg()?, |x| -x)?;
        each(view.relu()?, |x| x.max(0.0))?;
        each(view.div(&Tensor::scalar(&exec, 3.0)?)?, |x| x / 3.0)?;
        each(view.abs()?.pow(&Tensor::scalar(&exec, 1.5)?)?, |x| {
            x.abs().powf(1.5)
        })?;
        each(view.atan2(&Tensor::scalar(&exec, -0.5)?)?, |x| {
            x.atan2(-0.5)
        })?;
        let doubles = view.cast::<f64>()?;
        assert_eq!(doubles.shape(), view.shape());
        assert!(doubles
            .to_vec()?
            .iter()
            .zip(&want)
            .all(|(&a, &b)| a == f64::from(b)));
        let cut = view.cast::<i8>()?.to_vec()?;
        assert!(cut.iter().zip(&want).all(|(&a, &b)| a == b as i8));
    }
    Ok(())
}

#[test]
fn not_a_number() -> Outcome {
    let exec = Executor::new()?;
    let x = Tensor::from_slice(&exec, &[1.0f64, f64::NAN, -2.0], &[3])?;
    let y = Tensor::from_slice(&exec, &[f64::NAN, 1.0, 5.0], &[3])?;
    let max = x.maximum(&y)?.to_vec()?;
    assert!(max[0].is_nan() && max[1].is_nan() && max[2] == 5.0);
    assert_eq!(x.equal(&x)?.to_vec()?, [1, 0, 1]);
    assert!(x.max(None, false)?.to_vec()?[0].is_nan());
    assert_eq!(x.argmax(0, false)?.to_vec()?, [1]);
    assert_eq!(x.argmin(0, true)?.to_vec()?, [1]);
    assert_eq!(x.any(None, false)?.to_vec()?, [1]);
    Ok(())
}

/// Values of each group of elements that a fold along `dims` joins, in the order of the result.
fn groups<T: Copy>(data: &[T], shape: &[usize], dims: &[usize]) -> Vec<Vec<T>> {
    let kept: Vec<usize> = (0..shape.len())
        .map(|d| if dims.contains(&d) { 1 } else { shape[d] })
        .collect();
    let mut groups = vec![Vec::new(); len(&kept)];
    for (i, &value) in data.iter().enumerate() {
        let at = places(i, shape);
        let at: Vec<usize> = at
            .iter()
            .zip(&kept)
            .map(|(&p, &n)| if n == 1 { 0 } else { p })
            .collect();
        groups[linear(&at, &kept)].push(value);
    }
    groups
}

#[test]
fn folds_along_dimensions() -> Outcome {
    let exec = Executor::new()?;
    let cases: [(&[usize], &[usize]); 8] = [
        (&[3, 5, 7], &[1]),
        (&[3, 5, 7], &[0, 2]),
        (&[3, 5, 7], &[0, 1, 2]),
        (&[65_537], &[0]),
        (&[2, 65_537], &[1]),
        (&[65_537, 3], &[0]),
        (&[1, 1], &[0]),
        (&[4, 3], &[]),
    ];
    for (shape, dims) in cases {
        let data = integers(len(shape), 5);
        let x = Tensor::from_slice(&exec, &data, shape)?;
        let parts = groups(&data, shape, dims);
        let named = Some(dims);
        let kept: Vec<usize> = (0..shape.len())
            .map(|d| if dims.contains(&d) { 1 } else { shape[d] })
            .collect();
        let rest: Vec<usize> = (0..shape.len())
            .filter(|d| !dims.contains(d))
            .map(|d| shape[d])
            .collect();
        assert_eq!(x.sum(named, true)?.shape(), kept);
        assert_eq!(x.sum(named, false)?.shape(), rest);
        let want = |f: fn(&[i32]) -> i32| parts.iter().map(|part| f(part)).collect::<Vec<_>>();
        assert_eq!(x.sum(named, false)?.to_vec()?, want(|p| p.iter().sum()));
        assert_eq!(
            x.product(named, true)?.to_vec()?,
            want(|p| p.iter().fold(1i32, |a, &b| a.wrapping_mul(b)))
        );
        assert_eq!(
            x.min(named, true)?.to_vec()?,
            want(|p| p.iter().copied().min().unwrap_or(i32::MAX))
        );
        assert_eq!(
            x.max(named, false)?.to_vec()?,
            want(|p| p.iter().copied().max().unwrap_or(i32::MIN))
        );
        let truth =
            |f: fn(&[i32]) -> bool| parts.iter().map(|p| u8::from(f(p))).collect::<Vec<_>>();
        assert_eq!(
            x.any(named, false)?.to_vec()?,
            truth(|p| p.iter().any(|&v| v != 0))
        );
        assert_eq!(
            x.all(named, false)?.to_vec()?,
            truth(|p| p.iter().all(|&v| v != 0))
        );
        if let &[dim] = dims {
            let first = |best: fn(&[i32]) -> Option<i32>| -> Vec<u64> {
                let index = |p: &Vec<i32>| {
                    let best = best(p);
                    p.iter().position(|&v| Some(v) == best).unwrap_or(0)
                };
                parts.iter().map(|p| index(p) as u64).collect()
            };
            assert_eq!(
                x.argmax(dim, false)?.to_vec()?,
                first(|p| p.iter().copied().max())
            );
            assert_eq!(
                x.argmin(dim, true)?.to_vec()?,
                first(|p| p.iter().copied().min())
            );
        }
        let data = floats(len(shape), 6);
        let x = Tensor::from_slice(&exec, &data, shape)?;
        let close = |found: Tensor<f32>, f: fn(&[f64]) -> f64| -> Outcome {
            let parts = groups(&data, shape, dims);
            for (found, part) in found.to_vec()?.into_iter().zip(&parts) {
                let part: Vec<f64> = part.iter().map(|&v| f64::from(v)).collect();
                let want = f(&part) as f32;
                let same = (found - want).abs() <= 2e-4 * want.abs().max(1.0);
                assert!(
                    same || (found.is_nan() && want.is_nan()),
                    "{found} is not {want}: {shape:?} {dims:?}"
                );
            }
            Ok(())
        };
        fn mean(p: &[f64]) -> f64 {
            p.iter().sum::<f64>() / p.len() as f64
        }
        fn var(p: &[f64]) -> f64 {
            let mean = mean(p);
            p.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / p.len() as f64
        }
        close(x.mean(named, false)?, mean)?;
        close(x.var(named, 0.0, false)?, var)?;
        close(x.std(named, 0.0, true)?, |p| var(p).sqrt())?;
        if parts[0].len() > 1 {
            close(x.var(named, 1.0, false)?, |p| {
                var(p) * p.len() as f64 / (p.len() as f64 - 1.0)
            })?;
        }
    }
    Ok(())
}

#[test]
fn folds_of_nothing() -> Outcome {
    let exec = Executor::new()?;
    let x = Tensor::<f32>::zeros(&exec, &[0, 3])?;
    assert_eq!(x.sum(Some(&[0]), false)?.to_vec()?, [0.0; 3]);
    assert_eq!(x.product(None, false)?.to_vec()?, [1.0]);
    assert_eq!(x.any(None, false)?.to_vec()?, [0]);
    assert_eq!(x.all(None, false)?.to_vec()?, [1]);
    assert_eq!(x.max(None, false)?.to_vec()?, [f32::NEG_INFINITY]);
    assert!(x.mean(None, false)?.to_vec()?[0].is_nan());
    assert!(x.sum(Some(&[1]), false)?.to_vec()?.is_empty());
    assert!(matches!(x.argmax(0, false), Err(Error::InvalidShape(_))));
    Ok(())
}

#[test]
fn halves_are_rounded_once() -> Outcome {
    let exec = Executor::new()?;
    let data: Vec<f16> = floats(2 * 331, 8).into_iter().map(f16::from_f32).collect();
    let x = Tensor::from_slice(&exec, &data, &[2, 331])?;
    let y = x.add(&x)?.mul(&x)?;
    for (found, a) in y.to_vec()?.into_iter().zip(&data) {
        let sum = f16::from_f32(a.to_f32() + a.to_f32());
        assert_eq!(found, f16::from_f32(sum.to_f32() * a.to_f32()));
    }
    assert_eq!(
        x.less(&x.neg()?)?.to_vec()?,
        data.iter()
            .map(|a| u8::from(a.to_f32() < 0.0))
            .collect::<Vec<_>>()
    );
    for (row, found) in x.mean(Some(&[1]), false)?.to_vec()?.into_iter().enumerate() {
        let want: f64 = data[row * 331..][..331]
            .iter()
            .map(|a| a.to_f64())
            .sum::<f64>()
            / 331.0;
        assert!((found.to_f64() - want).abs() < 2e-3, "{found} {want}");
    }
    let best = x.max(Some(&[1]), false)?.to_vec()?;
    for (row, &index) in x.argmax(1, false)?.to_vec()?.iter().enumerate() {
        assert_eq!(data[row * 331 + index as usize], best[row]);
    }
    Ok(())
}

#[test]
fn joined_and_taken() -> Outcome {
    let exec = Executor::new()?;
    let data = integers(3 * 5 * 7, 9);
    let x = Tensor::from_slice(&exec, &data, &[3, 5, 7])?;
    for dim in 0..3 {
        let (n, view) = (x.shape()[dim], x.flip(dim)?);
        let both = Tensor::concatenate(&[&x, &view, &x.narrow(dim, 0, 0)?], dim)?;
        assert_eq!(both.shape()[dim], 2 * n);
        assert_eq!(both.narrow(dim, 0, n)?.to_vec()?, data);
        assert_eq!(both.narrow(dim, n, n)?.to_vec()?, view.to_vec()?);
        let backwards: Vec<usize> = (0..n).rev().collect();
        assert_eq!(x.take(&backwards, dim)?.to_vec()?, view.to_vec()?);
        let twice = x.take(&[1, 1], dim)?;
        assert_eq!(twice.select(dim, 0)?.to_vec()?, x.select(dim, 1)?.to_vec()?);
        assert_eq!(twice.select(dim, 1)?.to_vec()?, x.select(dim, 1)?.to_vec()?);
        let stacked = Tensor::stack(&[&x, &view], dim)?;
        assert_eq!(stacked.ndim(), 4);
        assert_eq!(stacked.select(dim, 1)?.to_vec()?, view.to_vec()?);
    }
    assert_eq!(Tensor::stack(&[&x], 3)?.shape(), [3, 5, 7, 1]);
    assert_eq!(x.move_dim(0, 2)?.shape(), [5, 7, 3]);
    let long: Vec<usize> = (0..65_537).map(|i| i * 7 % 105).collect();
    let flat = x.view_1d()?.take(&long, 0)?.to_vec()?;
    assert!(flat
        .iter()
        .zip(&long)
        .all(|(&found, &at)| found == data[at]));
    Ok(())
}

#[test]
fn products_of_stacks() -> Outcome {
    let exec = Executor::new()?;
    let cases: [(&[usize], &[usize]); 6] = [
        (&[3, 5], &[5, 2]),
        (&[4, 3, 5], &[5, 2]),
        (&[3, 5], &[4, 5, 2]),
        (&[2, 1, 3, 5], &[4, 5, 2]),
        (&[1, 1], &[1, 1]),
        (&[0, 3, 5], &[5, 2]),
    ];
    for (a_shape, b_shape) in cases {
        let (a, b) = (floats(len(a_shape), 1), floats(len(b_shape), 2));
        let x = Tensor::from_slice(&exec, &a, a_shape)?;
        let y = Tensor::from_slice(&exec, &b, b_shape)?;
        let found = x.matmul(&y)?;
        let shape = found.shape().to_vec();
        let (k, rank) = (a_shape[a_shape.len() - 1], shape.len());
        for (i, found) in found.to_vec()?.into_iter().enumerate() {
            let at = places(i, &shape);
            let want: f32 = (0..k)
                .map(|j| {
                    let (mut left, mut right) = (at.clone(), at.clone());
                    left[rank - 1] = j;
                    right[rank - 2] = j;
                    broadcast(&a, a_shape, &left) * broadcast(&b, b_shape, &right)
                })
                .sum();
            assert!(
                (found - want).abs() < 1e-3,
                "{found} is not {want}: {a_shape:?} {b_shape:?}"
            );
        }
    }
    Ok(())
}

#[test]
fn what_does_not_fit() -> Outcome {
    let (exec, other) = (Executor::new()?, Executor::new()?);
    let x = Tensor::<i32>::zeros(&exec, &[2, 3])?;
    let y = Tensor::<i32>::zeros(&exec, &[4])?;
    assert!(matches!(x.add(&y), Err(Error::InvalidShape(_))));
    assert!(matches!(
        x.sum(Some(&[2]), false),
        Err(Error::InvalidView(_))
    ));
    assert!(matches!(
        x.sum(Some(&[1, 1]), false),
        Err(Error::InvalidView(_))
    ));
    assert!(matches!(x.take(&[3], 1), Err(Error::InvalidView(_))));
    assert!(matches!(
        Tensor::concatenate(&[&x, &y], 0),
        Err(Error::InvalidShape(_))
    ));
    assert!(matches!(
        Tensor::<i32>::concatenate(&[], 0),
        Err(Error::InvalidShape(_))
    ));
    assert!(matches!(
        Tensor::concatenate(&[&x], 2),
        Err(Error::InvalidView(_))
    ));
    let foreign = Tensor::<i32>::zeros(&other, &[3])?;
    assert!(matches!(x.add(&foreign), Err(Error::ForeignBuffer { .. })));
    let z = Tensor::<f32>::zeros(&exec, &[3])?;
    assert!(matches!(z.bit_and(&z), Err(Error::InvalidArgument { .. })));
    assert!(matches!(z.matmul(&z), Err(Error::InvalidShape(_))));
    Ok(())
}
