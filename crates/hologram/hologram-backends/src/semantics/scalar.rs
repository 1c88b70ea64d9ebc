//! The twelve types as Rust types, and what most of them can do.

use half::{bf16, f16};

/// A value without loss of any type's: what conversions go through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wide {
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    Uint(u64),
    /// `f32`, `f16` or `bf16`.
    F32(f32),
    /// `f64`.
    F64(f64),
}

/// A Rust type that holds the values of one [`Ty`](crate::Ty).
pub trait Scalar: Copy + Default + Send + Sync + 'static {
    /// The value of the low bits; the higher ones are ignored.
    fn from_bits(bits: u64) -> Self;

    /// The bits, the higher ones zero.
    fn to_bits(self) -> u64;

    /// The same value in a wide type.
    fn widen(self) -> Wide;

    /// Subnormal values are zero on devices that flush them.
    const FLUSHES: bool = false;

    /// Zero of the same sign for a subnormal value of such a type, else the value.
    #[inline(always)]
    fn flushed(self) -> Self {
        self
    }

    /// Integers truncate or extend; floats to integers truncate and saturate, NaN gives 0; all else is
    /// rounded once to the nearest, halves to even.
    fn narrow(value: Wide) -> Self;
}

/// Integers, `f32` and `f64`.
pub trait Arithmetic: Scalar + PartialOrd {
    /// Value of an empty sum.
    const ZERO: Self;
    /// Value of an empty product.
    const ONE: Self;
    /// The smallest value, minus infinity for floats: what an empty maximum is.
    const LOWEST: Self;
    /// The largest value, infinity for floats: what an empty minimum is.
    const HIGHEST: Self;

    /// The sum; integers wrap.
    fn add(self, other: Self) -> Self;
    /// The difference; integers wrap.
    fn sub(self, other: Self) -> Self;
    /// The product; integers wrap.
    fn mul(self, other: Self) -> Self;
    /// The quotient: integers truncate and MIN / -1 wraps; `None` for integers divided by zero.
    fn div(self, other: Self) -> Option<Self>;
    /// The smaller; a NaN yields the other, equals the first.
    fn min(self, other: Self) -> Self;
    /// The larger; a NaN yields the other, equals the first.
    fn max(self, other: Self) -> Self;

    /// `self` * `b` + `c`; integers wrap, floats round twice.
    fn mad(self, b: Self, c: Self) -> Self {
        self.mul(b).add(c)
    }
}

/// Signed integers, `f32` and `f64`.
pub trait Signed: Arithmetic {
    /// The absolute value; the minimum integer stays; of floats the sign bit is cleared.
    fn abs(self) -> Self;
    /// The negation; the minimum integer stays; of floats the sign bit is flipped.
    fn neg(self) -> Self;
}

macro_rules! integers {
    ($($t:ident $bits:ident $wide:ident $as:ident;)*) => {$(
        impl Scalar for $t {
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                bits as $t
            }
            #[inline(always)]
            fn to_bits(self) -> u64 {
                u64::from(self as $bits)
            }
            #[inline(always)]
            fn widen(self) -> Wide {
                Wide::$wide($as::from(self))
            }
            #[inline(always)]
            fn narrow(value: Wide) -> Self {
                match value {
                    Wide::Int(x) => x as $t,
                    Wide::Uint(x) => x as $t,
                    Wide::F32(x) => x as $t,
                    Wide::F64(x) => x as $t,
                }
            }
        }

        impl Arithmetic for $t {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            const LOWEST: Self = $t::MIN;
            const HIGHEST: Self = $t::MAX;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            #[inline(always)]
            fn div(self, other: Self) -> Option<Self> {
                (other != 0).then(|| self.wrapping_div(other))
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if other < self { other } else { self }
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if other > self { other } else { self }
            }
        }
    )*};
}

integers! {
    i8 u8 Int i64;
    i16 u16 Int i64;
    i32 u32 Int i64;
    i64 u64 Int i64;
    u8 u8 Uint u64;
    u16 u16 Uint u64;
    u32 u32 Uint u64;
    u64 u64 Uint u64;
}

macro_rules! signed_integers {
    ($($t:ident)*) => {$(
        impl Signed for $t {
            #[inline(always)]
            fn abs(self) -> Self {
                self.wrapping_abs()
            }
            #[inline(always)]
            fn neg(self) -> Self {
                self.wrapping_neg()
            }
        }
    )*};
}

signed_integers!(i8 i16 i32 i64);

macro_rules! floats {
    ($($t:ident $bits:ident $wide:ident $sign:expr, $flushes:expr;)*) => {$(
        impl Scalar for $t {
            const FLUSHES: bool = $flushes;
            #[inline(always)]
            fn flushed(self) -> Self {
                if $flushes && self.is_subnormal() { $t::from_bits($t::to_bits(self) & $sign) } else { self }
            }
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                $t::from_bits(bits as $bits)
            }
            #[inline(always)]
            fn to_bits(self) -> u64 {
                u64::from($t::to_bits(self))
            }
            #[inline(always)]
            fn widen(self) -> Wide {
                Wide::$wide(self)
            }
            #[inline(always)]
            fn narrow(value: Wide) -> Self {
                match value {
                    Wide::Int(x) => x as $t,
                    Wide::Uint(x) => x as $t,
                    Wide::F32(x) => x as $t,
                    Wide::F64(x) => x as $t,
                }
            }
        }

        impl Arithmetic for $t {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const LOWEST: Self = $t::NEG_INFINITY;
            const HIGHEST: Self = $t::INFINITY;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                self - other
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                self * other
            }
            #[inline(always)]
            fn div(self, other: Self) -> Option<Self> {
                Some(self / other)
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                if self.is_nan() || other < self { other } else { self }
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                if self.is_nan() || other > self { other } else { self }
            }
        }

        impl Signed for $t {
            #[inline(always)]
            fn abs(self) -> Self {
                $t::from_bits($t::to_bits(self) & !$sign)
            }
            #[inline(always)]
            fn neg(self) -> Self {
                $t::from_bits($t::to_bits(self) ^ $sign)
            }
        }
    )*};
}

floats! {
    f32 u32 F32 (1u32 << 31), true;
    f64 u64 F64 (1u64 << 63), false;
}

macro_rules! halves {
    ($($t:ident $convert:path;)*) => {$(
        impl Scalar for $t {
            #[inline(always)]
            fn from_bits(bits: u64) -> Self {
                $t::from_bits(bits as u16)
            }
            #[inline(always)]
            fn to_bits(self) -> u64 {
                u64::from($t::to_bits(self))
            }
            #[inline(always)]
            fn widen(self) -> Wide {
                Wide::F32(self.to_f32())
            }
            #[inline(always)]
            fn narrow(value: Wide) -> Self {
                $convert(super::convert::to_odd(value))
            }
        }
    )*};
}

halves! {
    f16 f16::from_f32;
    bf16 bf16::from_f32;
}
