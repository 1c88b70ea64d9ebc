//! Folds of the elements up to each, along a dimension of a view, in place.
//!
//! A long row is cut into parts: each is scanned by itself, then what all parts before it fold to goes into each of its elements.

use super::super::element::Element;
use super::super::parallel::{all_at_once, Shared, PIECE};
use super::super::reduce::{self, Fold};
use super::extremes::{Highest, Lowest};
use super::{FoldOp, View};
use crate::Ty;

/// Time of an element in bytes that are read or written in that time: each waits for the one before.
const WEIGHT: usize = 32;

/// Makes each element along `axis` the fold of those before it and itself. Results depend on the shape, not on the number of threads.
/// There is none for halves.
///
/// # Safety
/// The elements of `view` over `shape`, each there once, are of type `ty` in live memory that nobody else uses.
pub unsafe fn scan(op: FoldOp, ty: Ty, shape: &[usize], axis: usize, view: &View) {
    macro_rules! with {
        ($t:ty) => {
            match op {
                FoldOp::Sum => scanned::<$t, _>(shape, axis, view, reduce::Sum),
                FoldOp::Product => scanned::<$t, _>(shape, axis, view, reduce::Product),
                FoldOp::Minimum => scanned::<$t, _>(shape, axis, view, Lowest),
                FoldOp::Maximum => scanned::<$t, _>(shape, axis, view, Highest),
            }
        };
    }
    // SAFETY: the caller's promises.
    unsafe {
        match ty {
            Ty::I8 => with!(i8),
            Ty::I16 => with!(i16),
            Ty::I32 => with!(i32),
            Ty::I64 => with!(i64),
            Ty::U8 => with!(u8),
            Ty::U16 => with!(u16),
            Ty::U32 => with!(u32),
            Ty::U64 => with!(u64),
            Ty::F32 => with!(f32),
            Ty::F64 => with!(f64),
            Ty::F16 | Ty::Bf16 => {}
        }
    }
}

/// # Safety
/// As [`scan`]; the elements are `T`.
unsafe fn scanned<T: Element, F: Fold<T>>(shape: &[usize], axis: usize, view: &View, op: F) {
    let (length, step) = (shape[axis], view.strides[axis]);
    let count: usize = shape.iter().product();
    if count == 0 {
        return;
    }
    let (rows, parts) = (count / length, length.div_ceil(PIECE));
    let first = |row: usize| {
        let (mut rest, mut at) = (row, view.ptr);
        for d in (0..shape.len()).rev().filter(|&d| d != axis) {
            let index = (rest % shape[d]) as isize;
            rest /= shape[d];
            at = at.wrapping_offset(index.wrapping_mul(view.strides[d]));
        }
        at
    };
    let place = |row: usize, index: usize| {
        first(row)
            .wrapping_offset((index as isize).wrapping_mul(step))
            .cast::<T>()
    };
    let next = |at: *mut T| at.cast::<u8>().wrapping_offset(step).cast::<T>();
    let of = |part: usize| part * PIECE..length.min((part + 1) * PIECE);
    all_at_once(rows * parts, count, WEIGHT, |unit| {
        let (row, range) = (unit / parts, of(unit % parts));
        let mut at = place(row, range.start);
        // SAFETY: the indices lie within the shape, and each unit has elements of its own.
        unsafe {
            let mut folded = at.read_unaligned();
            for _ in range.skip(1) {
                at = next(at);
                folded = op.join(folded, at.read_unaligned());
                at.write_unaligned(folded);
            }
        }
    });
    if parts == 1 {
        return;
    }
    // What all parts before one fold to; the first of a row has none.
    let mut before = vec![op.empty(); rows * parts];
    for row in 0..rows {
        for part in 1..parts {
            // SAFETY: as above; nothing else runs.
            let last = unsafe { place(row, part * PIECE - 1).read_unaligned() };
            let unit = row * parts + part;
            before[unit] = match part {
                1 => last,
                _ => op.join(before[unit - 1], last),
            };
        }
    }
    let before = Shared(before.as_mut_ptr());
    all_at_once(rows * parts, count, WEIGHT, |unit| {
        let (row, part) = (unit / parts, unit % parts);
        if part == 0 {
            return;
        }
        let range = of(part);
        let mut at = place(row, range.start);
        // SAFETY: as above; `before` has an element for each unit.
        unsafe {
            let lead = before.at(unit).read();
            for _ in range {
                at.write_unaligned(op.join(lead, at.read_unaligned()));
                at = next(at);
            }
        }
    });
}
