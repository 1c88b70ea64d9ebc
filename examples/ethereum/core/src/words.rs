//! Arithmetic of the virtual machine's words, in software; a guest does it by instructions of its own.

use alloy_primitives::U256;
use revm::interpreter::instructions::i256::i256_cmp;

/// Arithmetic of words of 256 bits. Methods of two operands take the upper one of the stack first, and write their result to the lower one.
pub trait Words {
    /// Copies a word.
    ///
    /// # Safety
    ///
    /// `from` can be read and `to` written; both are aligned.
    #[inline(always)]
    unsafe fn copy(from: *const U256, to: *mut U256) {
        // SAFETY: the caller's.
        unsafe { to.write(from.read()) }
    }

    /// Returns whether a word is 0.
    #[inline(always)]
    fn is_zero(a: &U256) -> bool {
        a.is_zero()
    }

    /// Returns a word below 2^32.
    #[inline(always)]
    fn small(a: &U256) -> Option<u32> {
        u32::try_from(*a).ok()
    }

    /// ADD
    #[inline(always)]
    fn add(a: &U256, b: &mut U256) {
        *b = a.wrapping_add(*b);
    }

    /// SUB: `a - b`
    #[inline(always)]
    fn sub(a: &U256, b: &mut U256) {
        *b = a.wrapping_sub(*b);
    }

    /// MUL
    #[inline(always)]
    fn mul(a: &U256, b: &mut U256) {
        *b = a.wrapping_mul(*b);
    }

    /// AND
    #[inline(always)]
    fn and(a: &U256, b: &mut U256) {
        *b &= *a;
    }

    /// OR
    #[inline(always)]
    fn or(a: &U256, b: &mut U256) {
        *b |= *a;
    }

    /// XOR
    #[inline(always)]
    fn xor(a: &U256, b: &mut U256) {
        *b ^= *a;
    }

    /// NOT
    #[inline(always)]
    fn not(a: &mut U256) {
        *a = !*a;
    }

    /// LT: 1 if `a < b`, else 0
    #[inline(always)]
    fn less(a: &U256, b: &mut U256) {
        *b = U256::from(*a < *b);
    }

    /// GT: 1 if `a > b`, else 0
    #[inline(always)]
    fn greater(a: &U256, b: &mut U256) {
        *b = U256::from(*a > *b);
    }

    /// SLT: [`Self::less`] of numbers in two's complement
    #[inline(always)]
    fn signed_less(a: &U256, b: &mut U256) {
        *b = U256::from(i256_cmp(a, b).is_lt());
    }

    /// SGT: [`Self::greater`] of numbers in two's complement
    #[inline(always)]
    fn signed_greater(a: &U256, b: &mut U256) {
        *b = U256::from(i256_cmp(a, b).is_gt());
    }

    /// EQ: 1 if the words are equal, else 0
    #[inline(always)]
    fn equal(a: &U256, b: &mut U256) {
        *b = U256::from(*a == *b);
    }

    /// ISZERO: 1 for 0, else 0
    #[inline(always)]
    fn is_zero_word(a: &mut U256) {
        *a = U256::from(a.is_zero());
    }

    /// SHL
    #[inline(always)]
    fn shift_left(shift: &U256, value: &mut U256) {
        *value = match Self::small(shift) {
            Some(bits @ ..256) => *value << bits as usize,
            _ => U256::ZERO,
        };
    }

    /// SHR
    #[inline(always)]
    fn shift_right(shift: &U256, value: &mut U256) {
        *value = match Self::small(shift) {
            Some(bits @ ..256) => *value >> bits as usize,
            _ => U256::ZERO,
        };
    }

    /// SAR: [`Self::shift_right`] that repeats the sign
    #[inline(always)]
    fn shift_right_signed(shift: &U256, value: &mut U256) {
        *value = match Self::small(shift) {
            Some(bits @ ..256) => value.arithmetic_shr(bits as usize),
            _ if value.bit(255) => U256::MAX,
            _ => U256::ZERO,
        };
    }
}
