//! Loops over rows that lie one after another, as vector code: folds into columns, and of short rows.

use super::super::element::Element;
use super::super::reduce::Fold;
use super::super::vector::Work;

/// `count` rows of `width` elements one after another, and where their folds go.
pub(super) struct Rows<T, F> {
    pub from: *const T,
    pub to: *mut T,
    pub width: usize,
    pub count: usize,
    pub op: F,
}

impl<T, F> Rows<T, F> {
    /// # Safety
    /// The row is one of `count`, and is not written meanwhile.
    #[inline(always)]
    unsafe fn row(&self, row: usize) -> &[T] {
        // SAFETY: `count` rows of `width` elements.
        unsafe { std::slice::from_raw_parts(self.from.add(row * self.width), self.width) }
    }
}

/// `to[i]` joined with element i of each row.
pub(super) struct Accumulate<T, F>(pub Rows<T, F>);

impl<T: Element, F: Fold<T>> Work for Accumulate<T, F> {
    type Out = ();
    const WIDE: bool = !T::INTEGER;

    #[inline(always)]
    fn run(self) {
        let rows = self.0;
        // SAFETY: as many results as a row has elements, which overlap nothing.
        let to = unsafe { std::slice::from_raw_parts_mut(rows.to, rows.width) };
        for row in 0..rows.count {
            // SAFETY: one of the rows.
            for (sum, &x) in to.iter_mut().zip(unsafe { rows.row(row) }) {
                *sum = rows.op.join(*sum, x);
            }
        }
    }
}

/// `to[row]` = the fold of each short row.
pub(super) struct ShortRows<T, F>(pub Rows<T, F>);

impl<T: Element, F: Fold<T>> Work for ShortRows<T, F> {
    type Out = ();
    const WIDE: bool = !T::INTEGER;

    #[inline(always)]
    fn run(self) {
        let rows = self.0;
        for row in 0..rows.count {
            // SAFETY: one of the rows.
            let from = unsafe { rows.row(row) };
            let mut lanes = [rows.op.empty(); 16];
            let (whole, rest) = from.as_chunks::<16>();
            for chunk in whole {
                for (lane, &x) in lanes.iter_mut().zip(chunk) {
                    *lane = rows.op.join(*lane, x);
                }
            }
            for (lane, &x) in lanes.iter_mut().zip(rest) {
                *lane = rows.op.join(*lane, x);
            }
            let mut half = 8;
            while half > 0 {
                for i in 0..half {
                    lanes[i] = rows.op.join(lanes[i], lanes[i + half]);
                }
                half /= 2;
            }
            // SAFETY: a result for each row.
            unsafe { rows.to.add(row).write(lanes[0]) };
        }
    }
}
