//! Types that each operation works on.

use crate::{BinaryOp, MapOp, Ty};

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
