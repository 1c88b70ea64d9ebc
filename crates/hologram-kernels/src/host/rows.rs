//! Operations on each row of a matrix.

use super::math::{exp, Float};
use super::parallel::{rows as each_piece, Shared};
use super::reduce::{join_lanes, Fold, Max, Sum};
use super::vector::{self, load, store, Work, BLOCK};

/// Factors and summands of the columns.
#[derive(Clone, Copy)]
pub(super) struct Scale<T> {
    pub gamma: *const T,
    pub beta: *const T,
    pub epsilon: f64,
}

/// Softmax of each row; `src` may be `dst`.
pub(super) fn softmax<T: Float>(dst: *mut T, src: *const T, rows: usize, cols: usize) {
    let (dst, src) = (Shared(dst), Shared(src.cast_mut()));
    each_piece(rows, cols, 16 * size_of::<T>(), |range| {
        for row in range {
            // SAFETY: `run` was promised rows * cols elements; rows are disjoint.
            let (dst, src) = unsafe { (dst.at(row * cols), src.at(row * cols)) };
            vector::run(Softmax { dst, src, cols });
        }
    });
}

/// Layer norm of each row; `src` may be `dst`.
pub(super) fn layer_norm<T: Float>(
    dst: *mut T,
    src: *const T,
    scale: Scale<T>,
    rows: usize,
    cols: usize,
) {
    let (dst, src) = (Shared(dst), Shared(src.cast_mut()));
    let (gamma, beta) = (
        Shared(scale.gamma.cast_mut()),
        Shared(scale.beta.cast_mut()),
    );
    let epsilon = scale.epsilon;
    each_piece(rows, cols, 8 * size_of::<T>(), |range| {
        for row in range {
            // SAFETY: `run` was promised rows * cols elements, and cols of the scale.
            let (dst, src, gamma, beta) = unsafe {
                (
                    dst.at(row * cols),
                    src.at(row * cols),
                    gamma.at(0),
                    beta.at(0),
                )
            };
            let scale = Scale {
                gamma,
                beta,
                epsilon,
            };
            vector::run(LayerNorm {
                dst,
                src,
                scale,
                cols,
            });
        }
    });
}

/// Calls `block` with the elements `fill`ed up to whole blocks, where each begins and its length.
///
/// # Safety
/// `src` is valid for reads of `cols` elements whenever a block is read.
#[inline(always)]
unsafe fn blocks<T: Copy>(
    src: *const T,
    cols: usize,
    fill: T,
    mut block: impl FnMut([T; BLOCK], usize, usize),
) {
    let mut at = 0;
    while at < cols {
        let len = BLOCK.min(cols - at);
        // SAFETY: `at + len <= cols`.
        block(unsafe { load(src.add(at), len, fill) }, at, len);
        at += len;
    }
}

struct Softmax<T> {
    dst: *mut T,
    src: *const T,
    cols: usize,
}

impl<T: Float> Work for Softmax<T> {
    type Out = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let mut lanes = [T::LEAST; BLOCK];
        // SAFETY: a row of `src`.
        unsafe {
            blocks(self.src, self.cols, T::LEAST, |x, _, _| {
                for i in 0..BLOCK {
                    lanes[i] = Max.join(lanes[i], x[i]);
                }
            });
        }
        let max = join_lanes(lanes, Max).to_f64();
        let mut sums = [0.0; BLOCK];
        // SAFETY: rows of `src` and `dst`; each block is read before it is written.
        unsafe {
            blocks(self.src, self.cols, T::LEAST, |x, at, len| {
                let mut out = x;
                for i in 0..BLOCK {
                    let e = exp(x[i].to_f64() - max);
                    sums[i] += if i < len { e } else { 0.0 };
                    out[i] = T::from_f64(e);
                }
                store(self.dst.add(at), len, out);
            });
        }
        let factor = 1.0 / join_lanes(sums, Sum);
        // SAFETY: a row of `dst`.
        unsafe {
            blocks(self.dst.cast_const(), self.cols, T::ZERO, |x, at, len| {
                let mut out = x;
                for i in 0..BLOCK {
                    out[i] = T::from_f64(x[i].to_f64() * factor);
                }
                store(self.dst.add(at), len, out);
            });
        }
    }
}

struct LayerNorm<T> {
    dst: *mut T,
    src: *const T,
    scale: Scale<T>,
    cols: usize,
}

impl<T: Float> Work for LayerNorm<T> {
    type Out = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let count = self.cols as f64;
        let mut sums = [0.0; BLOCK];
        // SAFETY: a row of `src`.
        unsafe {
            blocks(self.src, self.cols, T::ZERO, |x, _, _| {
                for i in 0..BLOCK {
                    sums[i] += x[i].to_f64();
                }
            });
        }
        let mean = join_lanes(sums, Sum) / count;
        let mut squares = [0.0; BLOCK];
        // SAFETY: as above.
        unsafe {
            blocks(self.src, self.cols, T::ZERO, |x, _, len| {
                for i in 0..BLOCK {
                    let d = if i < len { x[i].to_f64() - mean } else { 0.0 };
                    squares[i] = d.mul_add(d, squares[i]);
                }
            });
        }
        let factor = 1.0 / (join_lanes(squares, Sum) / count + self.scale.epsilon).sqrt();
        // SAFETY: rows of `src` and `dst`, and the scale of their columns.
        unsafe {
            blocks(self.src, self.cols, T::ZERO, |x, at, len| {
                let gamma: [T; BLOCK] = load(self.scale.gamma.add(at), len, T::ZERO);
                let beta: [T; BLOCK] = load(self.scale.beta.add(at), len, T::ZERO);
                let mut out = x;
                for i in 0..BLOCK {
                    let normal = (x[i].to_f64() - mean) * factor;
                    out[i] = T::from_f64(normal.mul_add(gamma[i].to_f64(), beta[i].to_f64()));
                }
                store(self.dst.add(at), len, out);
            });
        }
    }
}
