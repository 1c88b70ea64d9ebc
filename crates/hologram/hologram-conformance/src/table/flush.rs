//! Ways in which a device may take subnormal numbers for zero.

use super::floats::format;
use super::softfloat::Number;
use hologram_backends::Ty;

/// Treatment of subnormal operands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    Kept,
    Zero,
    PositiveZero,
}

/// Treatment of subnormal results.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Results {
    Kept,
    /// Zero if the rounded result is subnormal.
    Rounded,
    /// Zero if the exact result is below all normal numbers.
    Exact,
}

/// One way for one type.
#[derive(Clone, Copy)]
pub struct Flush {
    ty: Ty,
    operands: Operands,
    results: Results,
}

impl Flush {
    /// Every subnormal is kept.
    pub fn none(ty: Ty) -> Self {
        Self {
            ty,
            operands: Operands::Kept,
            results: Results::Kept,
        }
    }

    /// All ways but [`Flush::none`].
    pub fn ways(ty: Ty) -> impl Iterator<Item = Self> {
        let operands = [Operands::Kept, Operands::Zero, Operands::PositiveZero];
        let results = [Results::Kept, Results::Rounded, Results::Exact];
        let all = operands.into_iter().flat_map(move |operands| {
            results.into_iter().map(move |results| Self {
                ty,
                operands,
                results,
            })
        });
        all.skip(1)
    }

    fn is_subnormal(self, bits: u64) -> bool {
        let f = format(self.ty);
        let magnitude = bits & (f.sign() - 1);
        magnitude != 0 && magnitude < 1 << f.mantissa
    }

    /// Bits of an operand as they are seen.
    pub fn seen(self, bits: u64) -> u64 {
        match self.operands {
            Operands::Zero if self.is_subnormal(bits) => bits & format(self.ty).sign(),
            Operands::PositiveZero if self.is_subnormal(bits) => 0,
            _ => bits,
        }
    }

    /// Bits of a result that is rounded already.
    pub fn given(self, bits: u64) -> u64 {
        match self.results {
            Results::Kept => bits,
            _ if self.is_subnormal(bits) => bits & format(self.ty).sign(),
            _ => bits,
        }
    }

    /// Bits of a result that is exact, or rounds as the exact one does.
    pub fn rounded(self, number: Number) -> u64 {
        let f = format(self.ty);
        let bits = f.encode(number);
        match number {
            Number::Finite(_, mantissa, exponent) if self.results == Results::Exact => {
                let top = exponent + 127 - mantissa.leading_zeros() as i32;
                let least = f.decode(1 << f.mantissa);
                let Number::Finite(_, m, e) = least else {
                    return bits;
                };
                let least = e + 127 - m.leading_zeros() as i32;
                if mantissa == 0 || top < least {
                    bits & f.sign()
                } else {
                    bits
                }
            }
            _ => self.given(bits),
        }
    }
}
