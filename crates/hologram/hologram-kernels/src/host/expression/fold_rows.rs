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

/// Elements below which a row has few lanes: more of them wait less for the sums before, but take longer to join.
const FEW: usize = 256;

/// The fold of one row.
#[inline(always)]
pub(super) fn row<T: Element, F: Fold<T>>(from: &[T], op: F) -> T {
    if from.len() < FEW {
        row_of::<T, F, 16>(from, op)
    } else {
        row_of::<T, F, 64>(from, op)
    }
}

/// Fold of one row by `N` lanes, a power of two.
#[inline(always)]
fn row_of<T: Element, F: Fold<T>, const N: usize>(from: &[T], op: F) -> T {
    let mut lanes = [op.empty(); N];
    let (whole, rest) = from.as_chunks::<N>();
    for chunk in whole {
        for (lane, &x) in lanes.iter_mut().zip(chunk) {
            *lane = op.join(*lane, x);
        }
    }
    for (lane, &x) in lanes.iter_mut().zip(rest) {
        *lane = op.join(*lane, x);
    }
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = op.join(lanes[i], lanes[i + half]);
        }
        half /= 2;
    }
    lanes[0]
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
            let sum = self::row(unsafe { rows.row(row) }, rows.op);
            // SAFETY: a result for each row.
            unsafe { rows.to.add(row).write(sum) };
        }
    }
}
