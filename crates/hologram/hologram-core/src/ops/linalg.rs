//! Products of matrices, dense and row-major.

use super::raw;
use crate::buffer::Buffer;
use crate::element::Float;
use crate::error::Result;
use crate::executor::Executor;

/// `c` (m x n) = `a` (m x k) times `b` (k x n).
///
/// # Errors
/// Buffers that are too short or of another executor; `c` is a factor.
pub fn gemm<T: Float>(
    exec: &Executor,
    a: &Buffer<T>,
    b: &Buffer<T>,
    c: &Buffer<T>,
    m: usize,
    k: usize,
    n: usize,
) -> Result<()> {
    raw::gemm(exec, a.span(), b.span(), c.span(), (m, k, n))
}

/// `y` (m) = `a` (m x n) times `x` (n).
///
/// # Errors
/// Buffers that are too short or of another executor; `y` is a factor.
pub fn matvec<T: Float>(
    exec: &Executor,
    a: &Buffer<T>,
    x: &Buffer<T>,
    y: &Buffer<T>,
    m: usize,
    n: usize,
) -> Result<()> {
    raw::matvec(exec, a.span(), x.span(), y.span(), (m, n))
}
