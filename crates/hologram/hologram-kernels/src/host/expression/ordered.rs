//! Functions of integers and floats beyond [`Element`]: signs, quotients rounded down, shifts by any amount.

use super::super::element::Element;
use super::kernels::Value;

/// An integer or a float, as steps compare and divide it.
pub(super) trait Ordered: Value + Element {
    fn sign(self) -> Self;
    /// Quotient rounded down; of floats alone, `divide` divides integers.
    fn floor_div(self, _: Self) -> Self {
        self
    }
    /// Remainder of that quotient; of floats alone.
    fn remainder(self, _: Self) -> Self {
        self
    }
    /// Shift to the right by any amount; of integers alone.
    fn shifted_right(self, _: Self) -> Self {
        self
    }
}

macro_rules! ordered_integer {
    ($($t:ident)*) => {$(
        #[allow(
            unused_comparisons,
            clippy::absurd_extreme_comparisons,
            reason = "of both kinds of integers"
        )]
        impl Ordered for $t {
            #[inline(always)]
            fn sign(self) -> Self {
                $t::from(self > 0).wrapping_sub($t::from(self < 0))
            }
            #[inline(always)]
            fn shifted_right(self, by: Self) -> Self {
                const TOP: $t = $t::BITS as $t - 1;
                let over = !(0..=TOP).contains(&by);
                let shifted = self >> (if over { TOP } else { by });
                let sign = if self < 0 { !0 } else { 0 };
                if over { sign } else { shifted }
            }
        }
    )*};
}
ordered_integer!(i8 i16 i32 i64 u8 u16 u32 u64);

macro_rules! ordered_float {
    ($($t:ident)*) => {$(
        impl Ordered for $t {
            #[inline(always)]
            fn sign(self) -> Self {
                let sign = if self > 0.0 { 1.0 } else { -1.0 };
                // Of both zeros 0.
                if self == 0.0 || self != self { self + 0.0 } else { sign }
            }
            // As in Python: quotient and remainder belong together, `self` is `quotient * by + remainder`.
            #[inline(always)]
            fn floor_div(self, by: Self) -> Self {
                if by == 0.0 {
                    return self / by;
                }
                let rest = self % by;
                let lower = rest != 0.0 && ((by < 0.0) != (rest < 0.0));
                let quotient = (self - rest) / by - $t::from(u8::from(lower));
                let floor = quotient.floor();
                let near = if quotient - floor > 0.5 { floor + 1.0 } else { floor };
                if quotient == 0.0 { (0.0 as $t).copysign(self / by) } else { near }
            }
            #[inline(always)]
            fn remainder(self, by: Self) -> Self {
                let rest = self % by;
                let lower = rest != 0.0 && ((by < 0.0) != (rest < 0.0));
                if lower {
                    rest + by
                } else if rest == 0.0 {
                    (0.0 as $t).copysign(by)
                } else {
                    rest
                }
            }
        }
    )*};
}
ordered_float!(f32 f64);
