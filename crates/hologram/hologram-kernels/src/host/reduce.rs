//! Folds of a whole operand.

use super::element::Element;
use super::parallel::{pieces, Shared};
use super::vector::{self, each_block, none, Work, BLOCK};

/// Blocks that are added up before the sums are added in pairs.
const RUN: usize = 64;

/// An associative operation.
pub(super) trait Fold<T>: Copy + Sync {
    /// Result of nothing.
    fn empty(self) -> T;
    fn join(self, a: T, b: T) -> T;
    /// True if no number up to `greatest` that is joined with this changes it.
    #[inline(always)]
    fn is_final(self, _found: T, _greatest: T) -> bool {
        false
    }
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
        let Self { src, count, op } = self;
        let mut total = [op.empty(); BLOCK];
        for at in (0..count).step_by(RUN * BLOCK) {
            let mut lanes = [op.empty(); BLOCK];
            // SAFETY: `at` is below `count`; nothing is written.
            unsafe {
                let run = (src.add(at), op.empty());
                let len = (RUN * BLOCK).min(count - at);
                each_block((run, none()), len, |block: [T; BLOCK], _| {
                    for i in 0..BLOCK {
                        lanes[i] = op.join(lanes[i], block[i]);
                    }
                });
            }
            for i in 0..BLOCK {
                total[i] = op.join(total[i], lanes[i]);
            }
        }
        join_lanes(total, op)
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
