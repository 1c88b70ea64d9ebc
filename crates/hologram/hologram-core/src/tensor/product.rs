//! Products of matrices.

use super::Tensor;
use crate::buffer::Span;
use crate::element::Float;
use crate::error::{Error, Result};
use crate::layout::broadcast_shapes;
use crate::ops::raw;

impl<T: Float> Tensor<T> {
    /// Products of matrices: ... x m x k times ... x k x n, the dimensions before broadcast to each other. A product for each pair of
    /// matrices.
    ///
    /// # Errors
    /// Fewer than two dimensions; inner extents that differ; shapes that do not broadcast; out of memory.
    pub fn matmul(&self, other: &Self) -> Result<Self> {
        let ([a_stack @ .., m, k], [b_stack @ .., k2, n]) = (self.shape(), other.shape()) else {
            return Err(Error::InvalidShape(format!(
                "{:?} times {:?}: matrices are needed",
                self.shape(),
                other.shape()
            )));
        };
        let (m, k, n) = (*m, *k, *n);
        if k != *k2 {
            return Err(Error::InvalidShape(format!(
                "{m} x {k} times {k2} x {n}: {k} is not {k2}"
            )));
        }
        let stack = broadcast_shapes(a_stack, b_stack)?;
        let whole = |rows: usize, cols: usize| [&stack[..], &[rows, cols]].concat();
        // Matrices that are alone are not repeated.
        let dense = |tensor: &Self, alone: bool, rows, cols| match alone {
            true => tensor.contiguous(),
            false => tensor.broadcast_to(&whole(rows, cols))?.contiguous(),
        };
        let (a_alone, b_alone) = (a_stack.is_empty(), b_stack.is_empty());
        let (a, b) = (dense(self, a_alone, m, k)?, dense(other, b_alone, k, n)?);
        let c = Self::zeros(&self.executor, &whole(m, n))?;
        // Products of one matrix on the right are one, of all rows.
        let (count, rows) = match b_alone {
            true => (1, m * stack.iter().product::<usize>()),
            false => (stack.iter().product(), m),
        };
        for i in 0..count {
            let left = a.matrix(if a_alone { 0 } else { i }, rows * k)?;
            let right = b.matrix(if b_alone { 0 } else { i }, k * n)?;
            let product = c.matrix(i, rows * n)?;
            raw::gemm(&self.executor, left, right, product, (rows, k, n))?;
        }
        Ok(c)
    }

    /// Matrix `index` of a dense stack of matrices of `len` elements.
    fn matrix(&self, index: usize, len: usize) -> Result<Span<'_>> {
        let at = self.offset() + index * len;
        self.buffer.as_dyn().slice(at, len)
    }
}
