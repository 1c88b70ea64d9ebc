//! Names of the element types in Python, and their formats.

use std::ffi::CStr;

use hologram_backends::Ty;

/// NumPy's name of each type, and the format of the buffer protocol.
const NAMES: [(&str, Ty, Option<&CStr>); 12] = [
    ("int8", Ty::I8, Some(c"b")),
    ("int16", Ty::I16, Some(c"h")),
    ("int32", Ty::I32, Some(c"i")),
    ("int64", Ty::I64, Some(c"q")),
    ("uint8", Ty::U8, Some(c"B")),
    ("uint16", Ty::U16, Some(c"H")),
    ("uint32", Ty::U32, Some(c"I")),
    ("uint64", Ty::U64, Some(c"Q")),
    ("float16", Ty::F16, Some(c"e")),
    ("bfloat16", Ty::Bf16, None),
    ("float32", Ty::F32, Some(c"f")),
    ("float64", Ty::F64, Some(c"d")),
];

fn entry(ty: Ty) -> &'static (&'static str, Ty, Option<&'static CStr>) {
    &NAMES[usize::from(ty.code())]
}

/// NumPy's name of a type.
pub fn name(ty: Ty) -> &'static str {
    entry(ty).0
}

/// Format of the buffer protocol; bfloat16 has none.
pub fn format(ty: Ty) -> Option<&'static CStr> {
    entry(ty).2
}

/// The type that NumPy calls so.
pub fn find(name: &str) -> Option<Ty> {
    NAMES
        .iter()
        .find(|entry| entry.0 == name)
        .map(|entry| entry.1)
}

/// All names.
pub fn all() -> Vec<&'static str> {
    NAMES.iter().map(|entry| entry.0).collect()
}
