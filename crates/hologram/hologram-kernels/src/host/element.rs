//! Arithmetic of the ten element types.

/// An element: an integer that wraps, or a float.
pub(super) trait Element: Copy + Send + Sync + PartialOrd + 'static {
    const ZERO: Self;
    const ONE: Self;
    /// The smallest value; minus infinity.
    const LEAST: Self;
    /// The largest value; infinity.
    const GREATEST: Self;
    /// Division by zero is a fault; 512-bit vectors gain nothing.
    const INTEGER: bool;

    /// The value in the low bits.
    fn from_low_bits(bits: u64) -> Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    /// Not called with integer zeros.
    fn over(self, other: Self) -> Self;
    fn magnitude(self) -> Self;
    fn negated(self) -> Self;

    /// A NaN yields the other, equals the first.
    #[inline(always)]
    fn smaller(self, other: Self) -> Self {
        if other < self || self.is_nan() {
            other
        } else {
            self
        }
    }

    /// A NaN yields the other, equals the first.
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        if other > self || self.is_nan() {
            other
        } else {
            self
        }
    }

    #[inline(always)]
    #[allow(clippy::eq_op)]
    fn is_nan(self) -> bool {
        self != self
    }
}

macro_rules! integer {
    ($($name:ident $magnitude:ident $quotient:ident)*) => {$(
        impl Element for $name {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const LEAST: Self = $name::MIN;
            const GREATEST: Self = $name::MAX;
            const INTEGER: bool = true;

            #[inline(always)]
            fn from_low_bits(bits: u64) -> Self {
                bits as $name
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn over(self, other: Self) -> Self {
                integer!(@ $quotient $name self other)
            }
            #[inline(always)]
            fn magnitude(self) -> Self {
                integer!(@ $magnitude self)
            }
            #[inline(always)]
            fn negated(self) -> Self {
                (0 as $name).wrapping_sub(self)
            }
        }
    )*};
    (@ signed $value:ident) => { $value.wrapping_abs() };
    (@ unsigned $value:ident) => { $value };
    (@ hardware $name:ident $a:ident $b:ident) => { $a.checked_div($b).unwrap_or($a) };
    // Exact: a quotient that is no integer is at least 1 / |divisor| away from the next one, and rounding to a double moves
    // it by less than that.
    (@ double $name:ident $a:ident $b:ident) => {{
        let divisor = if $b == 0 { 1.0 } else { f64::from($b) };
        // SAFETY: at most 2^32 in magnitude.
        (unsafe { (f64::from($a) / divisor).to_int_unchecked::<i64>() }) as $name
    }};
}
integer!(i8 signed double i16 signed double i32 signed double i64 signed hardware);
integer!(u8 unsigned double u16 unsigned double u32 unsigned double u64 unsigned hardware);

macro_rules! float {
    ($($name:ident $bits:ident)*) => {$(
        impl Element for $name {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LEAST: Self = $name::NEG_INFINITY;
            const GREATEST: Self = $name::INFINITY;
            const INTEGER: bool = false;

            #[inline(always)]
            fn from_low_bits(bits: u64) -> Self {
                $name::from_bits(bits as $bits)
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn over(self, other: Self) -> Self {
                self / other
            }
            #[inline(always)]
            fn magnitude(self) -> Self {
                self.abs()
            }
            #[inline(always)]
            fn negated(self) -> Self {
                -self
            }
        }
    )*};
}
float!(f32 u32 f64 u64);
