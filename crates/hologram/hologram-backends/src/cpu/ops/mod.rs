//! Handlers: one instruction of one type for all active lanes.

pub(super) mod arithmetic;
pub(super) mod atlas;
pub(super) mod convert;
pub(super) mod float;
pub(super) mod fold;
pub(super) mod logic;
pub(super) mod memory;
pub(super) mod pool;

/// An expression with `$T` the Rust type of `$ty`, for a list of types; `None` for the others.
macro_rules! typed {
    ($ty:expr, ints, $T:ident => $e:expr) => {
        $crate::cpu::ops::typed!(@ $ty, $T => $e,
            I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64)
    };
    ($ty:expr, computable, $T:ident => $e:expr) => {
        $crate::cpu::ops::typed!(@ $ty, $T => $e,
            I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64, F32 f32, F64 f64)
    };
    ($ty:expr, signed, $T:ident => $e:expr) => {
        $crate::cpu::ops::typed!(@ $ty, $T => $e,
            I8 i8, I16 i16, I32 i32, I64 i64, F32 f32, F64 f64)
    };
    ($ty:expr, floats, $T:ident => $e:expr) => {
        $crate::cpu::ops::typed!(@ $ty, $T => $e, F32 f32, F64 f64)
    };
    ($ty:expr, folds, $T:ident => $e:expr) => {
        $crate::cpu::ops::typed!(@ $ty, $T => $e,
            I32 i32, I64 i64, U32 u32, U64 u64, F32 f32, F64 f64)
    };
    ($ty:expr, all, $T:ident => $e:expr) => {
        $crate::cpu::ops::typed!(@ $ty, $T => $e,
            I8 i8, I16 i16, I32 i32, I64 i64, U8 u8, U16 u16, U32 u32, U64 u64,
            F16 half::f16, Bf16 half::bf16, F32 f32, F64 f64)
    };
    (@ $ty:expr, $T:ident => $e:expr, $($name:ident $t:path),*) => {
        match $ty {
            $($crate::isa::Ty::$name => {
                type $T = $t;
                Some($e)
            })*
            #[allow(unreachable_patterns)]
            _ => None,
        }
    };
}
pub(super) use typed;

/// An expression with `$W` the unsigned integer as wide as the type.
macro_rules! by_width {
    ($ty:expr, $W:ident => $e:expr) => {
        match $ty.size() {
            1 => {
                type $W = u8;
                $e
            }
            2 => {
                type $W = u16;
                $e
            }
            4 => {
                type $W = u32;
                $e
            }
            _ => {
                type $W = u64;
                $e
            }
        }
    };
}
pub(super) use by_width;
