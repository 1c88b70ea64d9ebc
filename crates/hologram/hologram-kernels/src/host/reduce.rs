//! Folds of a whole operand.

use super::element::Element;
use super::parallel::{pieces, Shared};
use super::vector::{self, load, Work, BLOCK};

/// Blocks that are added up before the sums are added in pairs.
const RUN: usize = 64;

/// An associative operation.
pub(super) trait Fold<T>: Copy + Sync {
    /// Result of nothing.
    fn empty(self) -> T;
    fn join(self, a: T, b: T) -> T;
}

macro_rules! fold {
    ($($name:ident $empty:ident |$a:ident, $b:ident| $join:expr;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name;
        impl<T: Element> Fold<T> for $name {
            #[inline(always)]
            fn empty(self) -> T {
                T::$empty
            }
            #[inline(always)]
            fn join(self, $a: T, $b: T) -> T {
                $join
            }
        }
    )*};
}
fold! {
    Sum ZERO |a, b| a.plus(b);
    Product ONE |a, b| a.times(b);
    // NaNs are left out: `a` is never one.
    Min GREATEST |a, b| if b < a { b } else { a };
    Max LEAST |a, b| if b > a { b } else { a };
}

/// Fold of `count` elements in a fixed order: lanes, then runs, then pieces in pairs.
pub(super) fn reduce<T: Element, F: Fold<T>>(src: *const T, count: usize, op: F) -> T {
    let src = Shared(src.cast_mut());
    let mut sums = pieces(count, size_of::<T>(), op.empty(), |range| {
        // SAFETY: `run` was promised `count` elements.
        serial(unsafe { src.at(range.start) }, range.len(), op)
    });
    pairs(&mut sums, op)
}

/// The same by one core.
pub(super) fn serial<T: Element, F: Fold<T>>(src: *const T, count: usize, op: F) -> T {
    vector::run(Reduce { src, count, op })
}

/// Joins neighbours until one is left.
pub(super) fn pairs<T: Copy, F: Fold<T>>(values: &mut [T], op: F) -> T {
    let mut len = values.len();
    if len == 0 {
        return op.empty();
    }
    while len > 1 {
        for i in 0..len / 2 {
            values[i] = op.join(values[2 * i], values[2 * i + 1]);
        }
        if len % 2 == 1 {
            values[len / 2] = values[len - 1];
        }
        len = len.div_ceil(2);
    }
    values[0]
}

struct Reduce<T, F> {
    src: *const T,
    count: usize,
    op: F,
}

impl<T: Element, F: Fold<T>> Work for Reduce<T, F> {
    type Out = T;
    const WIDE: bool = !T::INTEGER;

    #[inline(always)]
    fn run(self) -> T {
        let mut total = [self.op.empty(); BLOCK];
        let mut at = 0;
        while at < self.count {
            let mut lanes = [self.op.empty(); BLOCK];
            let end = self.count.min(at + RUN * BLOCK);
            while at < end {
                let len = BLOCK.min(end - at);
                // SAFETY: `at + len <= count`.
                let block: [T; BLOCK] = unsafe { load(self.src.add(at), len, self.op.empty()) };
                for i in 0..BLOCK {
                    lanes[i] = self.op.join(lanes[i], block[i]);
                }
                at += len;
            }
            for i in 0..BLOCK {
                total[i] = self.op.join(total[i], lanes[i]);
            }
        }
        join_lanes(total, self.op)
    }
}

/// Joins the lanes of a block in pairs.
#[inline(always)]
pub(super) fn join_lanes<T: Copy, F: Fold<T>>(mut lanes: [T; BLOCK], op: F) -> T {
    let mut width = BLOCK / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] = op.join(lanes[i], lanes[i + width]);
        }
        width /= 2;
    }
    lanes[0]
}
