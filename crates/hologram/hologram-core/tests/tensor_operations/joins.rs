//! Tensors joined, and elements taken.

use hologram_core::{Executor, Tensor};

use super::support::{integers, Outcome};

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
