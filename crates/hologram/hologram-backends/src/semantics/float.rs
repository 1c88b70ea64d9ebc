//! Functions of `f32` and `f64` alone.

use super::{Arithmetic, Signed};

/// `f32` and `f64`.
///
/// [`Float::fma`] and [`Float::sqrt`] are correctly rounded, [`Float::rsqrt`] rounds twice. The others
/// come from the system's mathematics library, which stays within 2 ULP on the systems we build for;
/// [`Float::sigmoid`] adds the roundings of a sum and of a quotient.
pub trait Float: Signed {
    /// `self` * `b` + `c`, rounded once.
    fn fma(self, b: Self, c: Self) -> Self;
    /// e to the `self`.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn log(self) -> Self;
    /// Logarithm to base 2.
    fn log2(self) -> Self;
    /// Logarithm to base 10.
    fn log10(self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// 1 / square root.
    fn rsqrt(self) -> Self;
    /// Sine.
    fn sin(self) -> Self;
    /// Cosine.
    fn cos(self) -> Self;
    /// Tangent.
    fn tan(self) -> Self;
    /// Hyperbolic tangent.
    fn tanh(self) -> Self;
    /// 1 / (1 + exp(-x)).
    fn sigmoid(self) -> Self;
    /// `self` to the `exponent`.
    fn pow(self, exponent: Self) -> Self;
}

macro_rules! floats {
    ($($t:ident)*) => {$(
        impl Float for $t {
            #[inline(always)]
            fn fma(self, b: Self, c: Self) -> Self {
                $t::mul_add(self, b, c)
            }
            fn exp(self) -> Self {
                $t::exp(self)
            }
            fn log(self) -> Self {
                $t::ln(self)
            }
            fn log2(self) -> Self {
                $t::log2(self)
            }
            fn log10(self) -> Self {
                $t::log10(self)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $t::sqrt(self)
            }
            #[inline(always)]
            fn rsqrt(self) -> Self {
                1.0 / $t::sqrt(self)
            }
            fn sin(self) -> Self {
                $t::sin(self)
            }
            fn cos(self) -> Self {
                $t::cos(self)
            }
            fn tan(self) -> Self {
                $t::tan(self)
            }
            fn tanh(self) -> Self {
                $t::tanh(self)
            }
            fn sigmoid(self) -> Self {
                $t::ONE / ($t::ONE + $t::exp(Signed::neg(self)))
            }
            fn pow(self, exponent: Self) -> Self {
                $t::powf(self, exponent)
            }
        }
    )*};
}

floats!(f32 f64);
