//! Means over predictions and targets.

use super::math::{ln, Float};
use super::parallel::{pieces, Shared};
use super::reduce::{join_lanes, pairs, Sum};
use super::vector::{self, each_block, Work, BLOCK};
use crate::LossOp;

/// Loss of `count` pairs; sums are held in `f64`.
pub(super) fn loss<T: Float>(op: LossOp, p: *const T, t: *const T, count: usize) -> T {
    let (p, t) = (Shared(p.cast_mut()), Shared(t.cast_mut()));
    let mut sums = pieces(count, 8 * size_of::<T>(), 0.0, |range| {
        // SAFETY: `run` was promised `count` elements of each.
        let (p, t) = unsafe { (p.at(range.start), t.at(range.start)) };
        terms(op, p, t, range.len())
    });
    T::from_f64(pairs(&mut sums, Sum) / count as f64)
}

/// Sum of the terms of `count` pairs by one core.
pub(super) fn terms<T: Float>(op: LossOp, p: *const T, t: *const T, count: usize) -> f64 {
    match op {
        LossOp::Mse => total::<T, SquaredError>(p, t, count),
        LossOp::CrossEntropy => -total::<T, CrossEntropy>(p, t, count),
        LossOp::BinaryCrossEntropy => -total::<T, BinaryCrossEntropy>(p, t, count),
    }
}

trait Term {
    fn of(p: f64, t: f64) -> f64;
}

struct SquaredError;
impl Term for SquaredError {
    #[inline(always)]
    fn of(p: f64, t: f64) -> f64 {
        (p - t) * (p - t)
    }
}

/// t ln p, 0 where t is.
#[inline(always)]
fn times_log(t: f64, p: f64) -> f64 {
    if t == 0.0 {
        0.0
    } else {
        t * ln(p)
    }
}

struct CrossEntropy;
impl Term for CrossEntropy {
    #[inline(always)]
    fn of(p: f64, t: f64) -> f64 {
        times_log(t, p)
    }
}

struct BinaryCrossEntropy;
impl Term for BinaryCrossEntropy {
    #[inline(always)]
    fn of(p: f64, t: f64) -> f64 {
        times_log(t, p) + times_log(1.0 - t, 1.0 - p)
    }
}

fn total<T: Float, R: Term>(p: *const T, t: *const T, count: usize) -> f64 {
    vector::run(Total::<T, R> {
        p,
        t,
        count,
        term: std::marker::PhantomData,
    })
}

struct Total<T, R> {
    p: *const T,
    t: *const T,
    count: usize,
    term: std::marker::PhantomData<R>,
}

impl<T: Float, R: Term> Work for Total<T, R> {
    type Out = f64;
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) -> f64 {
        let mut lanes = [0.0; BLOCK];
        // SAFETY: `count` elements of both.
        unsafe {
            let p = (self.p, T::ONE);
            each_block((p, (self.t, T::ONE)), self.count, |p: [T; BLOCK], t| {
                // A prediction of 1 for a target of 1 costs nothing, whatever the loss.
                for i in 0..BLOCK {
                    lanes[i] += R::of(p[i].to_f64(), t[i].to_f64());
                }
            });
        }
        join_lanes(lanes, Sum)
    }
}
