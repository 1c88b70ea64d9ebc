//! Registers that collect a value over iterations: sums, products, extremes, bits.

use crate::isa::{Instruction, Register, Ty};

/// Fold of two collected values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fold {
    /// Sum.
    Add,
    /// Product.
    Mul,
    /// The smaller.
    Min,
    /// The larger.
    Max,
    /// Bits of both.
    And,
    /// Bits of either.
    Or,
    /// Bits of one.
    Xor,
}

/// A register that is read in a loop only to be folded with something else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accumulator {
    /// The register.
    pub register: Register,
    /// The type.
    pub ty: Ty,
    /// The operation.
    pub fold: Fold,
    /// It is the second operand, which matters for equals (-0 and 0).
    pub second: bool,
}

/// The fold of `register` by the instructions that touch it, if they do nothing else with it. Sums and products
/// of floats only with `reassociate`: all other folds do not depend on where brackets stand.
pub fn find(body: &[Instruction], register: Register, reassociate: bool) -> Option<Accumulator> {
    let mut found: Option<Accumulator> = None;
    for instruction in body {
        let mut touched = instruction.def().is_some_and(|(r, _)| r == register);
        instruction.for_each_use(|r, _| touched |= r == register);
        if touched {
            let this = part(instruction, register)?;
            if found.is_some_and(|known| known != this) {
                return None;
            }
            found = Some(this);
        }
    }
    found.filter(|a| {
        let exact = matches!(a.fold, Fold::Min | Fold::Max) || reassociate;
        a.ty.is_int() || (matches!(a.ty, Ty::F32 | Ty::F64) && exact)
    })
}

/// The fold of one instruction that reads and writes `register`.
fn part(instruction: &Instruction, register: Register) -> Option<Accumulator> {
    use Instruction as I;
    let (fold, dst, ty, [first, second]) = match *instruction {
        I::Add {
            ty,
            dst,
            src1,
            src2,
        } => (Fold::Add, dst, ty, [src1, src2]),
        I::Mul {
            ty,
            dst,
            src1,
            src2,
        } => (Fold::Mul, dst, ty, [src1, src2]),
        I::Min {
            ty,
            dst,
            src1,
            src2,
        } => (Fold::Min, dst, ty, [src1, src2]),
        I::Max {
            ty,
            dst,
            src1,
            src2,
        } => (Fold::Max, dst, ty, [src1, src2]),
        I::And {
            ty,
            dst,
            src1,
            src2,
        } => (Fold::And, dst, ty, [src1, src2]),
        I::Or {
            ty,
            dst,
            src1,
            src2,
        } => (Fold::Or, dst, ty, [src1, src2]),
        I::Xor {
            ty,
            dst,
            src1,
            src2,
        } => (Fold::Xor, dst, ty, [src1, src2]),
        // A sum of negated values.
        I::Sub {
            ty,
            dst,
            src1,
            src2,
        } if src1 == register => (Fold::Add, dst, ty, [src1, src2]),
        I::Mad { ty, dst, a, b, c } | I::Fma { ty, dst, a, b, c } if a != register => {
            (Fold::Add, dst, ty, [c, b])
        }
        _ => return None,
    };
    let once = (first == register) != (second == register);
    let ordered = matches!(fold, Fold::Min | Fold::Max) && ty.is_float();
    // `c` is the collected operand of `mad` and `fma`, which stands first above.
    let product = matches!(instruction, I::Mad { .. } | I::Fma { .. }) && second == register;
    (dst == register && once && !product).then_some(Accumulator {
        register,
        ty,
        fold,
        second: ordered && second == register,
    })
}

impl Accumulator {
    /// Values have to be folded in their order: equals with different bits are told apart by it.
    pub fn is_ordered(&self) -> bool {
        self.ty.is_float() && matches!(self.fold, Fold::Min | Fold::Max)
    }

    /// Bits of the value that changes nothing.
    pub fn identity(&self) -> u64 {
        let ty = self.ty;
        let top = 1u64 << (ty.bits() - 1);
        match (self.fold, ty) {
            (Fold::Add, Ty::F32 | Ty::F64) => top,
            (Fold::Add | Fold::Or | Fold::Xor, _) => 0,
            (Fold::Mul, Ty::F32) => 1f32.to_bits().into(),
            (Fold::Mul, Ty::F64) => 1f64.to_bits(),
            (Fold::Mul, _) => 1,
            (Fold::Min | Fold::Max, Ty::F32) => f32::NAN.to_bits().into(),
            (Fold::Min | Fold::Max, Ty::F64) => f64::NAN.to_bits(),
            (Fold::And, _) => ty.mask(),
            (Fold::Min, _) if ty.is_signed_int() => ty.mask() >> 1,
            (Fold::Min, _) => ty.mask(),
            (Fold::Max, _) if ty.is_signed_int() => top,
            (Fold::Max, _) => 0,
        }
    }

    /// `into` = what was collected in `into`, then what was collected in `later`.
    pub fn combine(&self, into: Register, later: Register) -> Instruction {
        use Instruction as I;
        let (ty, dst) = (self.ty, into);
        let (src1, src2) = if self.second {
            (later, into)
        } else {
            (into, later)
        };
        match self.fold {
            Fold::Add => I::Add {
                ty,
                dst,
                src1,
                src2,
            },
            Fold::Mul => I::Mul {
                ty,
                dst,
                src1,
                src2,
            },
            Fold::Min => I::Min {
                ty,
                dst,
                src1,
                src2,
            },
            Fold::Max => I::Max {
                ty,
                dst,
                src1,
                src2,
            },
            Fold::And => I::And {
                ty,
                dst,
                src1,
                src2,
            },
            Fold::Or => I::Or {
                ty,
                dst,
                src1,
                src2,
            },
            Fold::Xor => I::Xor {
                ty,
                dst,
                src1,
                src2,
            },
        }
    }
}
