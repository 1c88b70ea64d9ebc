//! Folds along dimensions, and of nothing.

use hologram_core::{Error, Executor, Tensor};

use super::support::{floats, integers, len, linear, places, Outcome};

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
