//! Loops that look for places of elements, as vector code.

use crate::host::element::Element;
use crate::host::expression::extremes::{Highest, Lowest};
use crate::host::expression::fold_rows::row;
use crate::host::reduce::Fold;
use crate::host::vector::Work;

/// An order by which an element is taken instead of one before it.
pub(super) trait Better<T>: Copy + Sync {
    fn better(self, x: T, than: T) -> bool;
}

impl<T: Element> Better<T> for Lowest {
    #[inline(always)]
    fn better(self, x: T, than: T) -> bool {
        (x < than) | (x.is_nan() & !than.is_nan())
    }
}

impl<T: Element> Better<T> for Highest {
    #[inline(always)]
    fn better(self, x: T, than: T) -> bool {
        (x > than) | (x.is_nan() & !than.is_nan())
    }
}

/// Elements that are compared at a time.
const GROUP: usize = 64;

/// Index of the first of `count` elements that is `value`, or NaN as it is; `count` if none is.
pub(super) struct Find<T> {
    pub from: *const T,
    pub count: usize,
    pub value: T,
}

impl<T: Element> Work for Find<T> {
    type Out = usize;
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) -> usize {
        // SAFETY: `count` elements that nobody writes.
        let from = unsafe { std::slice::from_raw_parts(self.from, self.count) };
        find(from, self.value)
    }
}

#[inline(always)]
fn find<T: Element>(from: &[T], value: T) -> usize {
    let nan = value.is_nan();
    let (groups, _) = from.as_chunks::<GROUP>();
    let mut at = 0;
    for group in groups {
        let mut found = false;
        for &x in group {
            found |= (x == value) | (x.is_nan() & nan);
        }
        if found {
            break;
        }
        at += GROUP;
    }
    while at < from.len() && !((from[at] == value) | (from[at].is_nan() & nan)) {
        at += 1;
    }
    at
}

/// Elements below which a row is looked through one by one.
const FEW: usize = 12;

/// Index of the best of each of `count` rows of `width` elements one after another.
pub(super) struct ShortRows<T, F> {
    pub from: *const T,
    pub to: *mut i64,
    pub width: usize,
    pub count: usize,
    pub op: F,
}

impl<T: Element, F: Fold<T> + Better<T>> Work for ShortRows<T, F> {
    type Out = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        for number in 0..self.count {
            // SAFETY: one of the rows, which nobody writes.
            let from = unsafe {
                std::slice::from_raw_parts(self.from.add(number * self.width), self.width)
            };
            let found = if self.width < FEW {
                let (mut best, mut found) = (from[0], 0);
                for (at, &x) in from.iter().enumerate() {
                    let better = self.op.better(x, best);
                    best = if better { x } else { best };
                    found = if better { at } else { found };
                }
                found
            } else {
                find(from, row(from, self.op))
            };
            // SAFETY: a result for each row.
            unsafe { self.to.add(number).write(found as i64) };
        }
    }
}

/// The best of each column of `rows` rows of `width` elements one after another, and in which row it is; row `first` is the
/// first one, and columns that are begun with row 0 take it.
pub(super) struct Columns<T, F> {
    pub from: *const T,
    pub best: *mut T,
    pub at: *mut u32,
    pub width: usize,
    pub rows: usize,
    pub first: u32,
    pub op: F,
}

impl<T: Element, F: Better<T>> Work for Columns<T, F> {
    type Out = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        // SAFETY: `width` results, which overlap nothing.
        let best = unsafe { std::slice::from_raw_parts_mut(self.best, self.width) };
        // SAFETY: as above.
        let at = unsafe { std::slice::from_raw_parts_mut(self.at, self.width) };
        for row in 0..self.rows {
            // SAFETY: one of the rows.
            let from =
                unsafe { std::slice::from_raw_parts(self.from.add(row * self.width), self.width) };
            let number = self.first + row as u32;
            if number == 0 {
                best.copy_from_slice(from);
                at.fill(0);
                continue;
            }
            for ((best, at), &x) in best.iter_mut().zip(at.iter_mut()).zip(from) {
                let better = self.op.better(x, *best);
                *best = if better { x } else { *best };
                *at = if better { number } else { *at };
            }
        }
    }
}
