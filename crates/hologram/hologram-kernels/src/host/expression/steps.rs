//! Steps of an expression.

use crate::{BinaryOp, MapOp, Ty};

/// Operation of one step; values are elements of its type unless said otherwise. Truths are `u8`, 0 or 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StepOp {
    /// An operation of one operand: `abs`, `neg` of integers too, the others of floats.
    Map(MapOp),
    /// An operation of two operands; of integers all but `div`, `pow` and `atan2`.
    Binary(BinaryOp),
    /// All bits flipped; integers.
    Not,
    /// -1, 0 or 1, of both zeros 0; NaN stays.
    Sign,
    /// Towards zero; floats.
    Trunc,
    /// Quotient rounded down; of integers by zero 0, of MIN by -1 MIN.
    FloorDiv,
    /// Remainder of [`StepOp::FloorDiv`], with the divisor's sign; of integers by zero 0.
    Remainder,
    /// The larger one; NaN if one is.
    Maximum,
    /// The smaller one; NaN if one is.
    Minimum,
    /// Integers.
    And,
    /// Integers.
    Or,
    /// Integers.
    Xor,
    /// Integers; 0 for amounts from the width on.
    ShiftLeft,
    /// Integers; of signed ones arithmetic, amounts from the width on as the width less one; else 0.
    ShiftRight,
    /// Truth of `a == b`.
    Equal,
    /// Truth of `a != b`.
    NotEqual,
    /// Truth of `a < b`.
    Less,
    /// Truth of `a <= b`.
    LessEqual,
    /// Selects the first of two values where a truth holds, else the second.
    Select,
    /// The value as another type: integers are cut or extended, floats rounded to nearest; floats to integers are truncated
    /// and bounded, NaN is 0.
    Convert(Ty),
}

impl StepOp {
    /// The operation called `name`; `convert` is called by [`StepOp::Convert`] alone.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "not" => Self::Not,
            "sign" => Self::Sign,
            "trunc" => Self::Trunc,
            "floor_div" => Self::FloorDiv,
            "remainder" => Self::Remainder,
            "maximum" => Self::Maximum,
            "minimum" => Self::Minimum,
            "and" => Self::And,
            "or" => Self::Or,
            "xor" => Self::Xor,
            "shl" => Self::ShiftLeft,
            "shr" => Self::ShiftRight,
            "eq" => Self::Equal,
            "ne" => Self::NotEqual,
            "lt" => Self::Less,
            "le" => Self::LessEqual,
            "select" => Self::Select,
            _ => {
                return MapOp::from_name(name)
                    .map(Self::Map)
                    .or_else(|| BinaryOp::from_name(name).map(Self::Binary))
            }
        })
    }

    /// Number of values that it reads.
    pub(super) fn reads(self) -> usize {
        match self {
            Self::Map(_) | Self::Not | Self::Sign | Self::Trunc | Self::Convert(_) => 1,
            Self::Select => 3,
            Self::Binary(_)
            | Self::FloorDiv
            | Self::Remainder
            | Self::Maximum
            | Self::Minimum
            | Self::And
            | Self::Or
            | Self::Xor
            | Self::ShiftLeft
            | Self::ShiftRight
            | Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessEqual => 2,
        }
    }

    /// True if it gives truths.
    pub(super) fn is_comparison(self) -> bool {
        matches!(
            self,
            Self::Equal | Self::NotEqual | Self::Less | Self::LessEqual
        )
    }

    /// Type of the result of a step of type `ty`.
    pub(super) fn result(self, ty: Ty) -> Ty {
        match self {
            Self::Equal | Self::NotEqual | Self::Less | Self::LessEqual => Ty::U8,
            Self::Convert(to) => to,
            Self::Map(_)
            | Self::Binary(_)
            | Self::Not
            | Self::Sign
            | Self::Trunc
            | Self::FloorDiv
            | Self::Remainder
            | Self::Maximum
            | Self::Minimum
            | Self::And
            | Self::Or
            | Self::Xor
            | Self::ShiftLeft
            | Self::ShiftRight
            | Self::Select => ty,
        }
    }

    /// True if there is code for the type.
    pub(super) fn allows(self, ty: Ty) -> bool {
        match self {
            // Chosen by their bits.
            Self::Convert(_) | Self::Select => true,
            _ if !ty.is_computable() => false,
            Self::Map(op) => match op {
                MapOp::Abs | MapOp::Neg | MapOp::Relu => true,
                MapOp::Exp
                | MapOp::Log
                | MapOp::Sqrt
                | MapOp::Rsqrt
                | MapOp::Sin
                | MapOp::Cos
                | MapOp::Tan
                | MapOp::Tanh
                | MapOp::Sigmoid
                | MapOp::Erf
                | MapOp::Ceil
                | MapOp::Floor
                | MapOp::Round
                | MapOp::Reciprocal
                | MapOp::Gelu => ty.is_float(),
            },
            Self::Trunc => ty.is_float(),
            Self::Binary(op) => match op {
                // An integer divided by zero is a fault elsewhere; here `FloorDiv` has a value for it.
                BinaryOp::Div | BinaryOp::Pow | BinaryOp::Atan2 => ty.is_float(),
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul | BinaryOp::Min | BinaryOp::Max => {
                    true
                }
            },
            Self::Not | Self::And | Self::Or | Self::Xor | Self::ShiftLeft | Self::ShiftRight => {
                ty.is_int()
            }
            Self::Sign
            | Self::FloorDiv
            | Self::Remainder
            | Self::Maximum
            | Self::Minimum
            | Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessEqual => true,
        }
    }

    /// Time of an element in that of a sum.
    pub(super) fn cost(self) -> usize {
        match self {
            Self::Map(MapOp::Abs | MapOp::Neg | MapOp::Relu) => 1,
            Self::Map(_) => 8,
            Self::Binary(BinaryOp::Pow | BinaryOp::Atan2) => 16,
            Self::FloorDiv | Self::Remainder => 8,
            Self::Binary(_)
            | Self::Not
            | Self::Sign
            | Self::Trunc
            | Self::Maximum
            | Self::Minimum
            | Self::And
            | Self::Or
            | Self::Xor
            | Self::ShiftLeft
            | Self::ShiftRight
            | Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessEqual
            | Self::Select
            | Self::Convert(_) => 1,
        }
    }
}

/// An associative operation on all elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FoldOp {
    /// Sum; integers wrap; 0 of none.
    Sum,
    /// Product; integers wrap; 1 of none.
    Product,
    /// The smallest one, NaN if one is; the largest value of none.
    Minimum,
    /// The largest one, NaN if one is; the smallest value of none.
    Maximum,
}

impl FoldOp {
    /// The operation called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "sum" => Self::Sum,
            "product" => Self::Product,
            "minimum" => Self::Minimum,
            "maximum" => Self::Maximum,
            _ => return None,
        })
    }
}

/// A step: `op` on elements of `ty`, which `args` name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// Operation of the step.
    pub op: StepOp,
    /// Type of what it reads; truths and amounts aside.
    pub ty: Ty,
    /// Values: operands first, then scalars, then results of the steps before.
    pub args: Vec<usize>,
}
