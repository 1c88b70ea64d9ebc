//! 256-bit arithmetic of the EVM, with defaults in software.

use alloy_primitives::U256;
use revm::interpreter::instructions::i256::i256_cmp;

/// Arithmetic of 256-bit words. A method with two operands takes the upper word of the stack first, and writes its result to the lower
/// word.
///
/// # Safety
///
/// [`Self::copy`] writes all of the word.
pub unsafe trait Words {
    /// Copies a word.
    ///
    /// # Safety
    ///
    /// 32 bytes at `from` can be read and 32 at `to` written; both are aligned as `U256`.
    #[inline(always)]
    unsafe fn copy(from: *const U256, to: *mut U256) {
        // SAFETY: the caller guarantees lengths and alignment.
        unsafe { to.write(from.read()) }
    }

    /// Returns whether a word is 0.
    #[inline(always)]
    fn is_zero(a: &U256) -> bool {
        a.is_zero()
    }

    /// Returns the word, if it is below 2^32.
    #[inline(always)]
    fn to_u32(a: &U256) -> Option<u32> {
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

    /// MULMOD: `a * b` modulo `modulus`, 0 if that is 0
    fn mul_mod(a: U256, b: U256, modulus: U256) -> U256 {
        a.mul_mod(b, modulus)
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
    fn lt(a: &U256, b: &mut U256) {
        *b = U256::from(*a < *b);
    }

    /// GT: 1 if `a > b`, else 0
    #[inline(always)]
    fn gt(a: &U256, b: &mut U256) {
        *b = U256::from(*a > *b);
    }

    /// SLT: [`Self::lt`] of numbers in two's complement
    #[inline(always)]
    fn slt(a: &U256, b: &mut U256) {
        *b = U256::from(i256_cmp(a, b).is_lt());
    }

    /// SGT: [`Self::gt`] of numbers in two's complement
    #[inline(always)]
    fn sgt(a: &U256, b: &mut U256) {
        *b = U256::from(i256_cmp(a, b).is_gt());
    }

    /// EQ: 1 if the words are equal, else 0
    #[inline(always)]
    fn eq(a: &U256, b: &mut U256) {
        *b = U256::from(*a == *b);
    }

    /// ISZERO: 1 for 0, else 0
    #[inline(always)]
    fn iszero(a: &mut U256) {
        *a = U256::from(a.is_zero());
    }

    /// SHL
    #[inline(always)]
    fn shl(shift: &U256, value: &mut U256) {
        *value = match Self::to_u32(shift) {
            Some(bits @ ..256) => *value << bits as usize,
            _ => U256::ZERO,
        };
    }

    /// SHR
    #[inline(always)]
    fn shr(shift: &U256, value: &mut U256) {
        *value = match Self::to_u32(shift) {
            Some(bits @ ..256) => *value >> bits as usize,
            _ => U256::ZERO,
        };
    }

    /// SAR: [`Self::shr`] that repeats the sign
    #[inline(always)]
    fn sar(shift: &U256, value: &mut U256) {
        *value = match Self::to_u32(shift) {
            Some(bits @ ..256) => value.arithmetic_shr(bits as usize),
            _ if value.bit(255) => U256::MAX,
            _ => U256::ZERO,
        };
    }
}
