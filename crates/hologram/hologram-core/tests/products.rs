//! Products of matrices and of stacks of them.

use hologram_core::{Executor, Tensor};

type Outcome = Result<(), Box<dyn std::error::Error>>;

/// Small integers, whose products have exact sums.
fn small(n: usize, seed: usize) -> Vec<f32> {
    (0..n)
        .map(|i| ((i * 7 + i / 5 + seed) % 13) as f32 - 6.0)
        .collect()
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

fn len(shape: &[usize]) -> usize {
    shape.iter().product()
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
        let (a, b) = (small(len(a_shape), 1), small(len(b_shape), 2));
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
            assert_eq!(found, want, "{at:?}: {a_shape:?} {b_shape:?}");
        }
    }
    Ok(())
}
