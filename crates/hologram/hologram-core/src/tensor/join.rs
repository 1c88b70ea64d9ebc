//! Tensors put together and picked apart.

use super::compute::{Dense, Steps};
use super::Tensor;
use crate::element::Element;
use crate::error::{Error, Result};

impl<T: Element> Tensor<T> {
    /// Tensors one behind another along `dim`: a new dense tensor.
    ///
    /// ```
    /// use hologram_core::{Executor, Tensor};
    ///
    /// let exec = Executor::new()?;
    /// let a = Tensor::from_slice(&exec, &[1, 2, 3, 4], &[2, 2])?;
    /// let both = Tensor::concatenate(&[&a, &a.transpose(0, 1)?], 1)?;
    /// assert_eq!(both.to_vec()?, [1, 2, 1, 3, 3, 4, 2, 4]);
    /// # Ok::<(), hologram_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// No tensor; extents that differ along another dimension; a dimension that does not exist; another executor.
    pub fn concatenate(tensors: &[&Self], dim: usize) -> Result<Self> {
        let Some(first) = tensors.first() else {
            return Err(Error::InvalidShape("no tensors to put together".into()));
        };
        let mut shape = first.shape().to_vec();
        if dim >= shape.len() {
            return Err(Error::InvalidView(format!(
                "dimension {dim} of a tensor of {}",
                shape.len()
            )));
        }
        shape[dim] = 0;
        for tensor in tensors {
            let mut fits = tensor.shape().to_vec();
            if fits.len() == shape.len() {
                shape[dim] += fits[dim];
                fits[dim] = shape[dim];
            }
            if fits != shape {
                return Err(Error::InvalidShape(format!(
                    "{:?} and {:?} along dimension {dim}",
                    first.shape(),
                    tensor.shape()
                )));
            }
        }
        let exec = &first.executor;
        let result: Self = Dense::unset(exec, T::TY, &shape)?.tensor(exec)?;
        let mut start = 0;
        for tensor in tensors {
            let len = tensor.shape()[dim];
            let part = result.narrow(dim, start, len)?;
            let steps = Steps::new(&[T::TY], &[]);
            steps.write(exec, tensor.shape(), &[tensor.seen()], 0, part.seen())?;
            start += len;
        }
        Ok(result)
    }

    /// Tensors of one shape along a new dimension `dim`.
    ///
    /// # Errors
    /// No tensor; other shapes; a `dim` over the number of dimensions; another executor.
    pub fn stack(tensors: &[&Self], dim: usize) -> Result<Self> {
        let rows = tensors.iter().map(|tensor| tensor.unsqueeze(dim));
        let rows = rows.collect::<Result<Vec<_>>>()?;
        Self::concatenate(&rows.iter().collect::<Vec<_>>(), dim)
    }

    /// The given indices of a dimension, in their order and as often as they are given: a new dense tensor. The elements go through
    /// the host's memory.
    ///
    /// # Errors
    /// A dimension or an index that does not exist.
    pub fn take(&self, indices: &[usize], dim: usize) -> Result<Self> {
        let Some(&extent) = self.shape().get(dim) else {
            return Err(Error::InvalidView(format!(
                "dimension {dim} of a tensor of {}",
                self.ndim()
            )));
        };
        if let Some(index) = indices.iter().find(|&&index| index >= extent) {
            return Err(Error::InvalidView(format!(
                "index {index} of dimension {dim}, which has {extent}"
            )));
        }
        let data = self.to_vec()?;
        let inner: usize = self.shape()[dim + 1..].iter().product();
        let outer: usize = self.shape()[..dim].iter().product();
        let mut shape = self.shape().to_vec();
        shape[dim] = indices.len();
        let mut taken = Vec::with_capacity(outer * indices.len() * inner);
        for row in 0..outer {
            for &index in indices {
                let at = (row * extent + index) * inner;
                taken.extend_from_slice(&data[at..at + inner]);
            }
        }
        Self::from_slice(&self.executor, &taken, &shape)
    }

    /// The indices of a dimension in the other direction: a view.
    ///
    /// # Errors
    /// A dimension that does not exist.
    pub fn flip(&self, dim: usize) -> Result<Self> {
        let extent = self.shape().get(dim).copied().unwrap_or(0);
        self.slice(dim, 0, extent, -1)
    }

    /// A dimension at another place: a view.
    ///
    /// # Errors
    /// A dimension that does not exist.
    pub fn move_dim(&self, from: usize, to: usize) -> Result<Self> {
        let mut order: Vec<usize> = (0..self.ndim()).collect();
        if from >= order.len() || to >= order.len() {
            return Err(Error::InvalidView(format!(
                "dimension {} of a tensor of {}",
                from.max(to),
                self.ndim()
            )));
        }
        let dim = order.remove(from);
        order.insert(to, dim);
        self.permute(&order)
    }
}
