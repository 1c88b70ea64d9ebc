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

/// Blocks of a row: where each begins and its length. No closures: those that are not inlined lack the
/// instructions of their caller.
macro_rules! each_block {
    ($cols:expr, |$at:ident, $len:ident| $body:block) => {{
        let mut $at = 0;
        while $at < $cols {
            let $len = BLOCK.min($cols - $at);
            $body
            $at += $len;
        }
    }};
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
        each_block!(self.cols, |at, len| {
            // SAFETY: within a row of `src`.
            let x: [T; BLOCK] = unsafe { load(self.src.add(at), len, T::LEAST) };
            for i in 0..BLOCK {
                lanes[i] = Max.join(lanes[i], x[i]);
            }
        });
        let max = join_lanes(lanes, Max).to_f64();
        let mut sums = [0.0; BLOCK];
        each_block!(self.cols, |at, len| {
            // SAFETY: within a row of `src`; read before it is written.
            let x: [T; BLOCK] = unsafe { load(self.src.add(at), len, T::LEAST) };
            let mut out = x;
            for i in 0..BLOCK {
                let e = exp(x[i].to_f64() - max);
                sums[i] += if i < len { e } else { 0.0 };
                out[i] = T::from_f64(e);
            }
            // SAFETY: within a row of `dst`.
            unsafe { store(self.dst.add(at), len, out) };
        });
        let factor = 1.0 / join_lanes(sums, Sum);
        each_block!(self.cols, |at, len| {
            // SAFETY: within a row of `dst`.
            let x: [T; BLOCK] = unsafe { load(self.dst.cast_const().add(at), len, T::ZERO) };
            let mut out = x;
            for i in 0..BLOCK {
                out[i] = T::from_f64(x[i].to_f64() * factor);
            }
            // SAFETY: as above.
            unsafe { store(self.dst.add(at), len, out) };
        });
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
        each_block!(self.cols, |at, len| {
            // SAFETY: within a row of `src`.
            let x: [T; BLOCK] = unsafe { load(self.src.add(at), len, T::ZERO) };
            for i in 0..BLOCK {
                sums[i] += x[i].to_f64();
            }
        });
        let mean = join_lanes(sums, Sum) / count;
        let mut squares = [0.0; BLOCK];
        each_block!(self.cols, |at, len| {
            // SAFETY: within a row of `src`.
            let x: [T; BLOCK] = unsafe { load(self.src.add(at), len, T::ZERO) };
            for i in 0..BLOCK {
                let d = if i < len { x[i].to_f64() - mean } else { 0.0 };
                squares[i] = d.mul_add(d, squares[i]);
            }
        });
        let factor = 1.0 / (join_lanes(squares, Sum) / count + self.scale.epsilon).sqrt();
        each_block!(self.cols, |at, len| {
            // SAFETY: within a row of `src`, and the scale of its columns.
            let (x, gamma, beta): ([T; BLOCK], [T; BLOCK], [T; BLOCK]) = unsafe {
                (
                    load(self.src.add(at), len, T::ZERO),
                    load(self.scale.gamma.add(at), len, T::ZERO),
                    load(self.scale.beta.add(at), len, T::ZERO),
                )
            };
            let mut out = x;
            for i in 0..BLOCK {
                let normal = (x[i].to_f64() - mean) * factor;
                out[i] = T::from_f64(normal.mul_add(gamma[i].to_f64(), beta[i].to_f64()));
            }
            // SAFETY: within a row of `dst`.
            unsafe { store(self.dst.add(at), len, out) };
        });
    }
}
