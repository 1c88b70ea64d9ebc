//! The smallest and the largest element; NaN if one is.

use super::super::element::Element;
use super::super::reduce::Fold;

/// The smaller one; NaN if one is.
#[derive(Clone, Copy)]
pub(super) struct Lowest;
impl<T: Element> Fold<T> for Lowest {
    #[inline(always)]
    fn empty(self) -> T {
        T::GREATEST
    }
    #[inline(always)]
    fn join(self, a: T, b: T) -> T {
        if b < a || b.is_nan() {
            b
        } else {
            a
        }
    }
    #[inline(always)]
    fn is_final(self, found: T, _: T) -> bool {
        T::INTEGER && found == T::LEAST
    }
}

/// The larger one; NaN if one is.
#[derive(Clone, Copy)]
pub(super) struct Highest;
impl<T: Element> Fold<T> for Highest {
    #[inline(always)]
    fn empty(self) -> T {
        T::LEAST
    }
    #[inline(always)]
    fn join(self, a: T, b: T) -> T {
        if b > a || b.is_nan() {
            b
        } else {
            a
        }
    }
    #[inline(always)]
    fn is_final(self, found: T, greatest: T) -> bool {
        T::INTEGER && found == greatest
    }
}
