//! Names of types, locals, constants and functions in the kernels' text.

use crate::isa::{Predicate, Register, Ty};

/// The MSL type that holds a value; `f16` and `bf16` are kept as their bits.
pub fn msl(ty: Ty) -> &'static str {
    match ty {
        Ty::I8 => "char",
        Ty::I16 => "short",
        Ty::I32 => "int",
        Ty::I64 => "long",
        Ty::U8 => "uchar",
        Ty::U16 | Ty::F16 | Ty::Bf16 => "ushort",
        Ty::U32 => "uint",
        Ty::U64 => "ulong",
        Ty::F32 => "float",
        Ty::F64 => "double",
    }
}

/// The unsigned type as wide as `ty`.
pub fn bits(ty: Ty) -> &'static str {
    ["", "uchar", "ushort", "", "uint", "", "", "", "ulong"][ty.size()]
}

/// The unsigned type that integers of type `ty` are computed in.
pub fn wide(ty: Ty) -> &'static str {
    if ty.size() == 8 {
        "ulong"
    } else {
        "uint"
    }
}

/// Local of a register while it holds `ty`.
pub fn local(register: Register, ty: Ty) -> String {
    format!("r{}_{}", register.index(), ty.name())
}

/// Local of a predicate.
pub fn predicate(predicate: Predicate) -> String {
    format!("p{}", predicate.index())
}

/// A value from unsigned bits `text` of the type [`bits`] or wider.
pub fn from_bits(ty: Ty, text: &str) -> String {
    match ty {
        Ty::F32 | Ty::F64 => format!("as_type<{}>(({})({text}))", msl(ty), bits(ty)),
        _ => format!("({})({text})", msl(ty)),
    }
}

/// The bits of a value as [`bits`].
pub fn to_bits(ty: Ty, text: &str) -> String {
    match ty {
        Ty::F32 | Ty::F64 => format!("as_type<{}>({text})", bits(ty)),
        _ => format!("({})({text})", bits(ty)),
    }
}

/// A constant given by its bits.
pub fn constant(ty: Ty, value: u64) -> String {
    let value = value & ty.mask();
    match ty.size() {
        8 => from_bits(ty, &format!("{value}ul")),
        _ => from_bits(ty, &format!("{value}u")),
    }
}
