//! Operations on each row of a matrix.

use super::element::Element;
use super::math::{exp, Float};
use super::parallel::{rows as each_piece, Shared};
use super::reduce::{join_lanes, Fold, Max, Sum};
use super::vector::{self, load, Work, BLOCK};

/// Representation of elements in memory.
pub(super) trait Stored: 'static {
    /// Type in memory.
    type Raw: Copy + Send + Sync;
    /// Type of the calculation.
    type Value: Float;
    /// Memory holds every value.
    const EXACT: bool;
    fn value(raw: Self::Raw) -> Self::Value;
    /// Rounded.
    fn raw(value: Self::Value) -> Self::Raw;
}

/// Elements that are held as they are.
pub(super) struct Same<T>(std::marker::PhantomData<T>);

impl<T: Float> Stored for Same<T> {
    type Raw = T;
    type Value = T;
    const EXACT: bool = true;

    #[inline(always)]
    fn value(raw: T) -> T {
        raw
    }
    #[inline(always)]
    fn raw(value: T) -> T {
        value
    }
}

/// The values of a block, those past `len` `fill`.
///
/// # Safety
/// `src` is valid for reads of `len` elements.
#[inline(always)]
unsafe fn values<S: Stored>(src: *const S::Raw, len: usize, fill: S::Value) -> [S::Value; BLOCK] {
    // SAFETY: the caller's promise.
    let raw: [S::Raw; BLOCK] = unsafe { load(src, len, S::raw(fill)) };
    let mut out = [fill; BLOCK];
    for i in 0..BLOCK {
        out[i] = S::value(raw[i]);
    }
    out
}

/// Writes the first `len` values of a block.
///
/// # Safety
/// `dst` is valid for writes of `len` elements.
#[inline(always)]
unsafe fn put<S: Stored>(dst: *mut S::Raw, len: usize, values: [S::Value; BLOCK]) {
    let mut raw = [S::raw(S::Value::ZERO); BLOCK];
    for i in 0..BLOCK {
        raw[i] = S::raw(values[i]);
    }
    // SAFETY: the caller's promise.
    unsafe { raw.as_ptr().copy_to_nonoverlapping(dst, len) };
}

/// Factors and summands of the columns.
#[derive(Clone, Copy)]
pub(super) struct Scale<R> {
    pub gamma: *const R,
    pub beta: *const R,
    pub epsilon: f64,
}

/// Softmax of each row; `src` may be `dst`.
pub(super) fn softmax<S: Stored>(dst: *mut S::Raw, src: *const S::Raw, rows: usize, cols: usize) {
    let (dst, src) = (Shared(dst), Shared(src.cast_mut()));
    each_piece(rows, cols, 16 * size_of::<S::Value>(), |range| {
        for row in range {
            // SAFETY: `run` was promised rows * cols elements; rows are disjoint.
            let (dst, src) = unsafe { (dst.at(row * cols), src.at(row * cols)) };
            vector::run(Softmax::<S> { dst, src, cols });
        }
    });
}

/// Layer norm of each row; `src` may be `dst`.
pub(super) fn layer_norm<S: Stored>(
    dst: *mut S::Raw,
    src: *const S::Raw,
    scale: Scale<S::Raw>,
    rows: usize,
    cols: usize,
) {
    let (dst, src) = (Shared(dst), Shared(src.cast_mut()));
    let (gamma, beta) = (
        Shared(scale.gamma.cast_mut()),
        Shared(scale.beta.cast_mut()),
    );
    let epsilon = scale.epsilon;
    each_piece(rows, cols, 8 * size_of::<S::Value>(), |range| {
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
            vector::run(LayerNorm::<S> {
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

struct Softmax<S: Stored> {
    dst: *mut S::Raw,
    src: *const S::Raw,
    cols: usize,
}

impl<S: Stored> Work for Softmax<S> {
    type Out = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let mut lanes = [S::Value::LEAST; BLOCK];
        each_block!(self.cols, |at, len| {
            // SAFETY: within a row of `src`.
            let x = unsafe { values::<S>(self.src.add(at), len, S::Value::LEAST) };
            for i in 0..BLOCK {
                lanes[i] = Max.join(lanes[i], x[i]);
            }
        });
        let max = join_lanes(lanes, Max).to_f64();
        let mut sums = [0.0; BLOCK];
        each_block!(self.cols, |at, len| {
            // SAFETY: within a row of `src`; read before it is written.
            let x = unsafe { values::<S>(self.src.add(at), len, S::Value::LEAST) };
            let mut out = x;
            for i in 0..BLOCK {
                let e = exp(x[i].to_f64() - max);
                sums[i] += if i < len { e } else { 0.0 };
                out[i] = S::Value::from_f64(e);
            }
            if S::EXACT {
                // SAFETY: within a row of `dst`.
                unsafe { put::<S>(self.dst.add(at), len, out) };
            }
        });
        let factor = 1.0 / join_lanes(sums, Sum);
        each_block!(self.cols, |at, len| {
            let from = if S::EXACT {
                self.dst.cast_const()
            } else {
                self.src
            };
            // SAFETY: within a row of `dst` or `src`.
            let x = unsafe { values::<S>(from.add(at), len, S::Value::ZERO) };
            let mut out = x;
            for i in 0..BLOCK {
                let e = x[i].to_f64();
                // Rounded once: what memory does not hold is calculated again.
                let e = if S::EXACT { e } else { exp(e - max) };
                out[i] = S::Value::from_f64(e * factor);
            }
            // SAFETY: within a row of `dst`.
            unsafe { put::<S>(self.dst.add(at), len, out) };
        });
    }
}

struct LayerNorm<S: Stored> {
    dst: *mut S::Raw,
    src: *const S::Raw,
    scale: Scale<S::Raw>,
    cols: usize,
}

impl<S: Stored> Work for LayerNorm<S> {
    type Out = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let count = self.cols as f64;
        let mut sums = [0.0; BLOCK];
        each_block!(self.cols, |at, len| {
            // SAFETY: within a row of `src`.
            let x = unsafe { values::<S>(self.src.add(at), len, S::Value::ZERO) };
            for i in 0..BLOCK {
                sums[i] += x[i].to_f64();
            }
        });
        let mean = join_lanes(sums, Sum) / count;
        let mut squares = [0.0; BLOCK];
        each_block!(self.cols, |at, len| {
            // SAFETY: within a row of `src`.
            let x = unsafe { values::<S>(self.src.add(at), len, S::Value::ZERO) };
            for i in 0..BLOCK {
                let d = if i < len { x[i].to_f64() - mean } else { 0.0 };
                squares[i] = d.mul_add(d, squares[i]);
            }
        });
        let factor = 1.0 / (join_lanes(squares, Sum) / count + self.scale.epsilon).sqrt();
        each_block!(self.cols, |at, len| {
            // SAFETY: within a row of `src`, and the scale of its columns.
            let (x, gamma, beta) = unsafe {
                (
                    values::<S>(self.src.add(at), len, S::Value::ZERO),
                    values::<S>(self.scale.gamma.add(at), len, S::Value::ZERO),
                    values::<S>(self.scale.beta.add(at), len, S::Value::ZERO),
                )
            };
            let mut out = x;
            for i in 0..BLOCK {
                let normal = (x[i].to_f64() - mean) * factor;
                out[i] = S::Value::from_f64(normal.mul_add(gamma[i].to_f64(), beta[i].to_f64()));
            }
            // SAFETY: within a row of `dst`.
            unsafe { put::<S>(self.dst.add(at), len, out) };
        });
    }
}
