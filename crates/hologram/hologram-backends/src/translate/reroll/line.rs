//! Integer values that move by a fixed step from iteration to iteration.

use crate::isa::{Instruction, Register, Ty};

/// `start + i * step` in iteration `i`, modulo the type's width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// An integer type.
    pub ty: Ty,
    /// Bits in the first iteration.
    pub start: u64,
    /// Bits that are added each time.
    pub step: u64,
}

impl Line {
    /// Starts with `start` and moves by `step`.
    pub fn new(ty: Ty, start: u64, step: u64) -> Self {
        Self {
            ty,
            start: start & ty.mask(),
            step: step & ty.mask(),
        }
    }

    /// The same each time.
    pub fn constant(ty: Ty, bits: u64) -> Self {
        Self::new(ty, bits, 0)
    }

    /// The bits, if they are the same each time.
    pub fn bits(self) -> Option<u64> {
        (self.step == 0).then_some(self.start)
    }

    /// The value in iteration `i`.
    pub fn at(self, i: u64) -> Self {
        let bits = self.start.wrapping_add(self.step.wrapping_mul(i));
        Self::constant(self.ty, bits)
    }

    /// Start and step as numbers, if the value does not wrap in `count` iterations.
    pub fn exact(self, count: u64) -> Option<(i128, i128)> {
        let bits = self.ty.bits();
        let signed = |value: u64| i128::from((value << (64 - bits)) as i64 >> (64 - bits));
        let (start, low, high) = if self.ty.is_signed_int() {
            let half = 1i128 << (bits - 1);
            (signed(self.start), -half, half - 1)
        } else {
            (i128::from(self.start), 0, (1i128 << bits) - 1)
        };
        let step = signed(self.step);
        let last = start + step * (i128::from(count) - 1);
        (low..=high).contains(&last).then_some((start, step))
    }

    fn plus(self, other: Self) -> Self {
        let start = self.start.wrapping_add(other.start);
        Self::new(self.ty, start, self.step.wrapping_add(other.step))
    }

    fn times(self, factor: u64) -> Self {
        let start = self.start.wrapping_mul(factor);
        Self::new(self.ty, start, self.step.wrapping_mul(factor))
    }

    fn convert(self, ty: Ty, count: u64) -> Option<Self> {
        if ty.bits() <= self.ty.bits() {
            return Some(Self::new(ty, self.start, self.step));
        }
        let (start, step) = self.exact(count)?;
        Some(Self::new(ty, start as u64, step as u64))
    }
}

/// Value that an instruction writes, given the lines that registers hold; `None` if it is no known line.
pub fn value(
    instruction: &Instruction,
    held: impl Fn(Register) -> Option<Line>,
    count: u64,
) -> Option<Line> {
    use Instruction as I;
    let get = |register, ty| held(register).filter(|line| line.ty == ty);
    let both = |a, b, ty: Ty, f: fn(u64, u64) -> u64| {
        let (a, b) = (get(a, ty)?.bits()?, get(b, ty)?.bits()?);
        Some(Line::constant(ty, f(a, b)))
    };
    let product = |a, b, ty| {
        let (a, b) = (get(a, ty)?, get(b, ty)?);
        match (a.bits(), b.bits()) {
            (Some(factor), _) => Some(b.times(factor)),
            (_, Some(factor)) => Some(a.times(factor)),
            _ => None,
        }
    };
    match *instruction {
        I::MovImm { ty, value, .. } if ty.is_int() => Some(Line::constant(ty, value)),
        I::Mov { ty, src, .. } => get(src, ty),
        I::Cvt {
            dst_ty,
            src_ty,
            src,
            ..
        } if dst_ty.is_int() => get(src, src_ty)?.convert(dst_ty, count),
        I::Add { ty, src1, src2, .. } => Some(get(src1, ty)?.plus(get(src2, ty)?)),
        I::Sub { ty, src1, src2, .. } => Some(get(src1, ty)?.plus(get(src2, ty)?.times(u64::MAX))),
        I::Neg { ty, src, .. } => Some(get(src, ty)?.times(u64::MAX)),
        I::Mul { ty, src1, src2, .. } => product(src1, src2, ty),
        I::Mad { ty, a, b, c, .. } => Some(product(a, b, ty)?.plus(get(c, ty)?)),
        I::Shl {
            ty, src, amount, ..
        } => {
            let amount = get(amount, Ty::U32)?.bits()? & u64::from(ty.bits() - 1);
            Some(get(src, ty)?.times(1 << amount))
        }
        I::Shr {
            ty, src, amount, ..
        } if !ty.is_signed_int() => {
            let amount = get(amount, Ty::U32)?.bits()? & u64::from(ty.bits() - 1);
            Some(Line::constant(ty, get(src, ty)?.bits()? >> amount))
        }
        I::And { ty, src1, src2, .. } => both(src1, src2, ty, |a, b| a & b),
        I::Or { ty, src1, src2, .. } => both(src1, src2, ty, |a, b| a | b),
        I::Xor { ty, src1, src2, .. } => both(src1, src2, ty, |a, b| a ^ b),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_exact_or_nothing() {
        let down = Line::new(Ty::U64, 400, 4u64.wrapping_neg());
        assert_eq!(down.exact(101), Some((400, -4)));
        assert_eq!(down.exact(102), None, "below zero");
        assert_eq!(down.at(100), Line::constant(Ty::U64, 0));
        let byte = Line::new(Ty::U8, 250, 1);
        assert_eq!(byte.exact(6), Some((250, 1)));
        assert_eq!(byte.exact(7), None, "it wraps to 0");
        assert_eq!(byte.convert(Ty::U64, 6), Some(Line::new(Ty::U64, 250, 1)));
        assert_eq!(byte.convert(Ty::U64, 7), None);
        let signed = Line::new(Ty::I16, 3u64.wrapping_neg(), 2);
        let wide = Line::new(Ty::I64, 3u64.wrapping_neg(), 2);
        assert_eq!(signed.convert(Ty::I64, 100), Some(wide));
        assert_eq!(wide.convert(Ty::I16, 100), Some(signed));
    }
}
