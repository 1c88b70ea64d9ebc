//! Functions of integers and floats beyond [`Element`]: signs, quotients rounded down, shifts by any amount.

use super::super::element::Element;
use super::kernels::Value;

/// An integer or a float, as steps compare and divide it.
pub(super) trait Ordered: Value + Element {
    fn sign(self) -> Self;
    fn floor_div(self, by: Self) -> Self;
    fn remainder(self, by: Self) -> Self;
    /// Not called on floats.
    fn shifted_right(self, by: Self) -> Self;
}

macro_rules! ordered_integer {
    ($($t:ident $quotient:ident)*) => {$(
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
            fn floor_div(self, by: Self) -> Self {
                let divisor = if by == 0 { 1 } else { by };
                let quotient = ordered_integer!(@ $quotient $t self divisor);
                if by == 0 { 0 } else { quotient }
            }
            #[inline(always)]
            fn remainder(self, by: Self) -> Self {
                let product = self.floor_div(by).wrapping_mul(by);
                if by == 0 { 0 } else { self.wrapping_sub(product) }
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
    // Exact: a quotient that is no integer is at least 1 / |divisor| away from the next one, and rounding to a double moves
    // it by less than that.
    (@ double $t:ident $a:ident $b:ident) => {{
        let quotient = (f64::from($a) / f64::from($b)).floor();
        // SAFETY: at most 2^32 in magnitude.
        (unsafe { quotient.to_int_unchecked::<i64>() }) as $t
    }};
    (@ hardware $t:ident $a:ident $b:ident) => {{
        let quotient = $a.wrapping_div($b);
        let below = $a.wrapping_rem($b) != 0 && (($a < 0) != ($b < 0));
        quotient.wrapping_sub($t::from(below))
    }};
}
ordered_integer!(i8 double i16 double i32 double i64 hardware);
ordered_integer!(u8 double u16 double u32 double u64 hardware);

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
            #[inline(always)]
            fn shifted_right(self, _: Self) -> Self {
                self
            }
        }
    )*};
}
ordered_float!(f32 f64);

/// A 64-bit integer, of which most are small enough to be divided as doubles.
pub(super) trait Wide: Ordered {
    /// Below 2^53 in magnitude.
    fn is_small(self) -> bool;
    /// [`Ordered::floor_div`] of two small ones.
    fn floor_div_small(self, by: Self) -> Self;
}

macro_rules! wide {
    ($($t:ident |$x:ident| $small:expr;)*) => {$(
        impl Wide for $t {
            #[inline(always)]
            fn is_small(self) -> bool {
                let $x = self;
                $small
            }
            #[inline(always)]
            fn floor_div_small(self, by: Self) -> Self {
                // Exact, by the same reason: rounding moves a quotient below 2^53 / |by| by less than 1 / |by|.
                let divisor = if by == 0 { 1.0 } else { by as f64 };
                let quotient = (self as f64 / divisor).floor();
                // SAFETY: below 2^53 in magnitude.
                let quotient = (unsafe { quotient.to_int_unchecked::<i64>() }) as $t;
                if by == 0 { 0 } else { quotient }
            }
        }
    )*};
}
wide! {
    i64 |x| (x.wrapping_add((1 << 53) - 1) as u64) < (1 << 54) - 1;
    u64 |x| x < 1 << 53;
}
