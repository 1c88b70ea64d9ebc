//! Quotients and remainders of integers, which no vector unit divides: by one number they are products with its reciprocal, else
//! quotients of doubles.

use std::marker::PhantomData;

use super::super::element::Element;
use super::super::vector::{self, blocks, none, Work, BLOCK};
use super::kernels::{pairs, single, Places, Value};

/// An integer that is divided, quotients rounded down.
pub(super) trait Divided: Value + Element {
    type Reciprocal: Copy;
    /// Reciprocal of a number that is not 0.
    fn reciprocal(self) -> Self::Reciprocal;
    /// Quotient by the number that the reciprocal is of.
    fn times_reciprocal(self, of: Self::Reciprocal) -> Self;
    /// True of a number below 2^53 in magnitude.
    fn is_small(self) -> bool;
    /// Quotient of two small numbers, 0 by 0.
    fn over_small(self, by: Self) -> Self;
    /// Quotient, 0 by 0.
    fn over_any(self, by: Self) -> Self;
}

/// Reciprocal of a divisor's magnitude, a fixed-point number of one bit more than the type has. Granlund and Montgomery, "Division by
/// invariant integers using multiplication", prove that it is exact for all unsigned numbers.
#[derive(Clone, Copy)]
pub(super) struct Reciprocal<U> {
    /// The number without its first bit.
    factor: U,
    shifts: [u32; 2],
    negative: bool,
}

/// Upper half of a product, by halves of 32 bits, which vector units multiply.
#[inline(always)]
fn upper(a: u64, b: u64) -> u64 {
    const LOW: u64 = u32::MAX as u64;
    let middle = (a >> 32) * (b & LOW) + (((a & LOW) * (b & LOW)) >> 32);
    let other = (a & LOW) * (b >> 32) + (middle & LOW);
    (a >> 32) * (b >> 32) + (middle >> 32) + (other >> 32)
}

macro_rules! divided {
    ($($t:ident $unsigned:ident $wide:ident |$x:ident| $small:expr;)*) => {$(
        #[allow(
            unused_comparisons,
            clippy::absurd_extreme_comparisons,
            reason = "of both kinds of integers"
        )]
        impl Divided for $t {
            type Reciprocal = Reciprocal<$unsigned>;

            #[inline(always)]
            fn reciprocal(self) -> Self::Reciprocal {
                let bits = self as $unsigned;
                let size = if self < 0 { bits.wrapping_neg() } else { bits };
                let log = $unsigned::BITS - (size - 1).leading_zeros();
                let above = (1 << log) - u128::from(size);
                Reciprocal {
                    factor: ((above << $unsigned::BITS) / u128::from(size) + 1) as $unsigned,
                    shifts: [log.min(1), log.saturating_sub(1)],
                    negative: self < 0,
                }
            }
            #[inline(always)]
            fn times_reciprocal(self, of: Self::Reciprocal) -> Self {
                // Below zero a quotient is the complement of that of the complement.
                let below = self != 0 && (self < 0) != of.negative;
                let flip = if below { $unsigned::MAX } else { 0 };
                let bits = self as $unsigned;
                let size = (if of.negative { bits.wrapping_neg() } else { bits }) ^ flip;
                let part = divided!(@ $wide $unsigned size (of.factor));
                let quotient = (part + ((size - part) >> of.shifts[0])) >> of.shifts[1];
                (quotient ^ flip) as $t
            }
            #[inline(always)]
            fn is_small(self) -> bool {
                let $x = self;
                $small
            }
            #[inline(always)]
            fn over_small(self, by: Self) -> Self {
                // Exact: a quotient that is no integer is at least 1 / |divisor| away from the next one, and rounding to a
                // double moves one below 2^53 / |divisor| by less than that.
                let divisor = if by == 0 { 1.0 } else { by as f64 };
                let quotient = (self as f64 / divisor).floor();
                // SAFETY: at most 2^53 in magnitude.
                let quotient = (unsafe { quotient.to_int_unchecked::<i64>() }) as $t;
                if by == 0 { 0 } else { quotient }
            }
            #[inline(always)]
            fn over_any(self, by: Self) -> Self {
                let divisor = if by == 0 { 1 } else { by };
                let below = self.wrapping_rem(divisor) != 0 && ((self < 0) != (by < 0));
                let quotient = self.wrapping_div(divisor).wrapping_sub($t::from(below));
                if by == 0 { 0 } else { quotient }
            }
        }
    )*};
    (@ u128 $unsigned:ident $a:ident $b:tt) => { upper($a, $b) };
    (@ $wide:ident $unsigned:ident $a:ident $b:tt) => {
        (($wide::from($a) * $wide::from($b)) >> $unsigned::BITS) as $unsigned
    };
}
divided! {
    i8 u8 u16 |_x| true;
    i16 u16 u32 |_x| true;
    i32 u32 u64 |_x| true;
    i64 u64 u128 |x| (x.wrapping_add((1 << 53) - 1) as u64) < (1 << 54) - 1;
    u8 u8 u16 |_x| true;
    u16 u16 u32 |_x| true;
    u32 u32 u64 |_x| true;
    u64 u64 u128 |x| x < 1 << 53;
}

/// Quotients, or remainders.
struct Divide<T> {
    places: Places,
    remainder: bool,
    types: PhantomData<T>,
}

impl<T: Divided> Divide<T> {
    /// The quotients themselves, or the remainders.
    #[inline(always)]
    fn result(&self, a: [T; BLOCK], b: [T; BLOCK], mut quotients: [T; BLOCK]) -> [T; BLOCK] {
        if self.remainder {
            for i in 0..BLOCK {
                let rest = a[i].minus(quotients[i].times(b[i]));
                quotients[i] = if b[i] == T::ZERO { T::ZERO } else { rest };
            }
        }
        quotients
    }
}

impl<T: Divided> Work for Divide<T> {
    type Out = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let Places { dst, args, count } = self.places;
        // SAFETY: every place has `count` elements.
        unsafe {
            if let Some(by) = single(args[1], count).filter(|&by: &T| by != T::ZERO) {
                let reciprocal = by.reciprocal();
                let a = (args[0].cast::<T>(), T::ONE);
                blocks(
                    dst.cast::<T>(),
                    (a, none(), none()),
                    count,
                    |a: [T; BLOCK], _, _| {
                        let mut out = a;
                        for i in 0..BLOCK {
                            out[i] = a[i].times_reciprocal(reciprocal);
                        }
                        self.result(a, [by; BLOCK], out)
                    },
                );
                return;
            }
            pairs(&self.places, T::ONE, |a: [T; BLOCK], b| {
                let mut small = true;
                for i in 0..BLOCK {
                    small &= a[i].is_small() & b[i].is_small();
                }
                let mut out = a;
                if small {
                    for i in 0..BLOCK {
                        out[i] = a[i].over_small(b[i]);
                    }
                } else {
                    for i in 0..BLOCK {
                        out[i] = a[i].over_any(b[i]);
                    }
                }
                self.result(a, b, out)
            });
        }
    }
}

pub(super) fn divide<T: Divided>(places: Places, remainder: bool) {
    vector::run(Divide::<T> {
        places,
        remainder,
        types: PhantomData,
    });
}
