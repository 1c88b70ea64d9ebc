//! Which types each operation works on, and which constants it may have.

use crate::{BinaryOp, Constant, Epsilon, MapOp, Operation, Ty};

/// Most bytes of an operand of a program, with elements of 8 bytes.
const MOST_BYTES: u64 = i64::MAX as u64;

impl Operation {
    /// Whether a program may have the sizes: rows and columns of at least 1, operands below 2^63 bytes whatever their type.
    pub fn sizes_fit(&self) -> bool {
        let (lengths, count) = self.lengths();
        let small = |length: &u64| length.checked_mul(8).is_some_and(|b| b <= MOST_BYTES);
        !self.constants().contains(&Constant::Extent(0)) && lengths[..count].iter().all(small)
    }

    /// The constant that must be finite and not negative, and is not.
    pub fn wrong_tolerance(&self) -> Option<Epsilon> {
        let constants = self.constants().into_iter();
        let mut wrong = constants.filter_map(|constant| match constant {
            Constant::Tolerance(epsilon) if !epsilon.is_tolerance() => Some(epsilon),
            Constant::Tolerance(_)
            | Constant::Bits(_)
            | Constant::Count(_)
            | Constant::Extent(_) => None,
        });
        wrong.next()
    }
}

/// Types of a unary whole-buffer operation.
///
/// # Errors
/// The type and the allowed ones, in words.
pub fn map_types(op: MapOp, ty: Ty) -> Result<(), (Ty, &'static str)> {
    match op {
        MapOp::Relu => Ok(()),
        MapOp::Abs | MapOp::Neg => require(
            ty,
            ty.is_signed_int() || ty.is_float(),
            "the signed integer and the float types",
        ),
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
        | MapOp::Gelu => any_float(ty),
    }
}

/// Types of a binary whole-buffer operation.
///
/// # Errors
/// The type and the allowed ones, in words.
pub fn binary_types(op: BinaryOp, ty: Ty) -> Result<(), (Ty, &'static str)> {
    match op {
        BinaryOp::Pow | BinaryOp::Atan2 => any_float(ty),
        BinaryOp::Add
        | BinaryOp::Sub
        | BinaryOp::Mul
        | BinaryOp::Div
        | BinaryOp::Min
        | BinaryOp::Max => Ok(()),
    }
}

/// `Ok` if `ok`, else the type and the allowed ones.
///
/// # Errors
/// The type and the allowed ones, in words.
pub fn require(ty: Ty, ok: bool, allowed: &'static str) -> Result<(), (Ty, &'static str)> {
    if ok {
        Ok(())
    } else {
        Err((ty, allowed))
    }
}

/// The float types that whole-buffer operations compute with: all four.
///
/// # Errors
/// The type and the allowed ones, in words.
pub fn any_float(ty: Ty) -> Result<(), (Ty, &'static str)> {
    require(ty, ty.is_float(), "the float types")
}

/// The two float types that lanes compute with.
///
/// # Errors
/// The type and the allowed ones, in words.
pub fn float(ty: Ty) -> Result<(), (Ty, &'static str)> {
    require(ty, matches!(ty, Ty::F32 | Ty::F64), "f32 and f64")
}

/// The types that lanes compute with.
///
/// # Errors
/// The type and the allowed ones, in words.
pub fn computable(ty: Ty) -> Result<(), (Ty, &'static str)> {
    require(ty, ty.is_computable(), "the integer types, f32 and f64")
}

/// Types of lanes that have a sign.
///
/// # Errors
/// The type and the allowed ones, in words.
pub fn signed(ty: Ty) -> Result<(), (Ty, &'static str)> {
    require(
        ty,
        ty.is_signed_int() || matches!(ty, Ty::F32 | Ty::F64),
        "the signed integer types, f32 and f64",
    )
}
