//! Products of matrices and of stacks of them.

use hologram_core::{Executor, Tensor};

use super::support::{broadcast, floats, len, places, Outcome};

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
