//! The twelve data types.

use std::fmt;

/// Type of a register's value or of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Ty {
    /// Signed, 8 bits.
    I8,
    /// Signed, 16 bits.
    I16,
    /// Signed, 32 bits.
    I32,
    /// Signed, 64 bits.
    I64,
    /// Unsigned, 8 bits.
    U8,
    /// Unsigned, 16 bits.
    U16,
    /// Unsigned, 32 bits.
    U32,
    /// Unsigned, 64 bits.
    U64,
    /// IEEE binary16; lanes store and convert it, whole-buffer operations compute with it.
    F16,
    /// The upper half of a binary32; as `F16`.
    Bf16,
    /// IEEE binary32.
    F32,
    /// IEEE binary64; not on Apple GPUs.
    F64,
}

impl Ty {
    /// All types, in the order of their codes.
    pub const ALL: [Self; 12] = [
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F16,
        Self::Bf16,
        Self::F32,
        Self::F64,
    ];

    /// Their names.
    pub const NAMES: &'static [&'static str] = &[
        "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64",
    ];

    /// Size in bytes: 1, 2, 4 or 8.
    pub const fn size(self) -> usize {
        match self {
            Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::Bf16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }

    /// Width in bits.
    pub const fn bits(self) -> u32 {
        self.size() as u32 * 8
    }

    /// The low [`Ty::bits`] bits set: what a value of this type may occupy of a 64-bit register.
    pub const fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    /// One of the four floating-point types.
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// One of the eight integer types.
    pub const fn is_int(self) -> bool {
        !self.is_float()
    }

    /// One of the four signed integer types.
    pub const fn is_signed_int(self) -> bool {
        matches!(self, Self::I8 | Self::I16 | Self::I32 | Self::I64)
    }

    /// An integer type or `f32` or `f64`: what arithmetic of lanes works on.
    pub const fn is_computable(self) -> bool {
        !matches!(self, Self::F16 | Self::Bf16)
    }

    /// The type that whole-buffer operations calculate in: `f32` for halves, else itself.
    pub const fn calculated(self) -> Self {
        match self {
            Self::F16 | Self::Bf16 => Self::F32,
            ty => ty,
        }
    }

    /// Name in assembly, such as `i32` or `bf16`.
    pub const fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The type called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ty| ty.name() == name)
    }

    /// Position in [`Ty::ALL`]; the code in serialised programs.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The type with a code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(code as usize).copied()
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
