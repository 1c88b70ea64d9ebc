//! Activations of neural networks.

use hologram_backends::MapOp;

use super::raw;
use crate::buffer::Buffer;
use crate::element::Float;
use crate::error::Result;
use crate::executor::Executor;

pub use super::math::relu;

/// `c` = 1 / (1 + exp(-`a`)).
///
/// # Errors
/// Buffers that are too short or of another executor.
pub fn sigmoid<T: Float>(exec: &Executor, a: &Buffer<T>, c: &Buffer<T>, n: usize) -> Result<()> {
    raw::map(exec, MapOp::Sigmoid, a.span(), c.span(), n)
}

/// `c` = hyperbolic tangent of `a`.
///
/// # Errors
/// Buffers that are too short or of another executor.
pub fn tanh<T: Float>(exec: &Executor, a: &Buffer<T>, c: &Buffer<T>, n: usize) -> Result<()> {
    raw::map(exec, MapOp::Tanh, a.span(), c.span(), n)
}

/// `c` = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) of `a`.
///
/// # Errors
/// Buffers that are too short or of another executor.
pub fn gelu<T: Float>(exec: &Executor, a: &Buffer<T>, c: &Buffer<T>, n: usize) -> Result<()> {
    raw::map(exec, MapOp::Gelu, a.span(), c.span(), n)
}

/// `output` = exp(x - max) / sum of them, over all `n` elements.
///
/// # Errors
/// Buffers that are too short or of another executor; more than 2^32 - 1 elements.
pub fn softmax<T: Float>(
    exec: &Executor,
    input: &Buffer<T>,
    output: &Buffer<T>,
    n: usize,
) -> Result<()> {
    softmax_rows(exec, input, output, 1, n)
}

/// [`softmax`] of each of `rows` rows of `cols` elements.
///
/// # Errors
/// Buffers that are too short or of another executor; more than 2^32 - 1 rows or columns.
pub fn softmax_rows<T: Float>(
    exec: &Executor,
    input: &Buffer<T>,
    output: &Buffer<T>,
    rows: usize,
    cols: usize,
) -> Result<()> {
    raw::softmax(exec, input.span(), output.span(), rows, cols)
}

/// Buffers and sizes of [`layer_norm`].
#[derive(Clone, Copy, Debug)]
pub struct LayerNorm<'a, T: Float> {
    /// `rows` x `cols`, read.
    pub input: &'a Buffer<T>,
    /// Factors, `cols`.
    pub gamma: &'a Buffer<T>,
    /// Summands, `cols`.
    pub beta: &'a Buffer<T>,
    /// `rows` x `cols`, written; may be the input.
    pub output: &'a Buffer<T>,
    /// Rows.
    pub rows: usize,
    /// Elements of a row.
    pub cols: usize,
    /// Added to the variance; finite, not negative.
    pub epsilon: f64,
}

/// Each row: (x - mean) / sqrt(variance + epsilon) * gamma + beta.
///
/// # Errors
/// Buffers that are too short or of another executor; an epsilon that is negative or not finite.
pub fn layer_norm<T: Float>(exec: &Executor, norm: LayerNorm<'_, T>) -> Result<()> {
    raw::layer_norm(
        exec,
        raw::LayerNorm {
            input: norm.input.span(),
            gamma: norm.gamma.span(),
            beta: norm.beta.span(),
            output: norm.output.span(),
            rows: norm.rows,
            cols: norm.cols,
            epsilon: norm.epsilon,
        },
    )
}
