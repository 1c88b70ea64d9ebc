//! Functions of integers alone.

use super::Arithmetic;

/// The eight integer types.
pub trait Integer: Arithmetic {
    /// Bitwise and.
    fn and(self, other: Self) -> Self;
    /// Bitwise or.
    fn or(self, other: Self) -> Self;
    /// Bitwise exclusive or.
    fn xor(self, other: Self) -> Self;
    /// All bits flipped.
    fn not(self) -> Self;
    /// Left by `amount` mod the width.
    fn shl(self, amount: u32) -> Self;
    /// Right by `amount` mod the width; arithmetic when signed.
    fn shr(self, amount: u32) -> Self;
}

macro_rules! integers {
    ($($t:ident)*) => {$(
        impl Integer for $t {
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                self & other
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                self | other
            }
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
            #[inline(always)]
            fn not(self) -> Self {
                !self
            }
            #[inline(always)]
            fn shl(self, amount: u32) -> Self {
                self.wrapping_shl(amount)
            }
            #[inline(always)]
            fn shr(self, amount: u32) -> Self {
                self.wrapping_shr(amount)
            }
        }
    )*};
}

integers!(i8 i16 i32 i64 u8 u16 u32 u64);
