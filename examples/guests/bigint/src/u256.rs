//! 256-bit unsigned integers whose operations are one instruction each.

use core::cmp::Ordering;

// The crate defines the functions declared below.
use openvm_bigint_guest as _;

extern "C" {
    fn zkvm_u256_wrapping_add_impl(result: *mut u8, a: *const u8, b: *const u8);
    fn zkvm_u256_wrapping_sub_impl(result: *mut u8, a: *const u8, b: *const u8);
    fn zkvm_u256_wrapping_mul_impl(result: *mut u8, a: *const u8, b: *const u8);
    fn zkvm_u256_bitand_impl(result: *mut u8, a: *const u8, b: *const u8);
    fn zkvm_u256_wrapping_shl_impl(result: *mut u8, a: *const u8, b: *const u8);
    fn zkvm_u256_wrapping_shr_impl(result: *mut u8, a: *const u8, b: *const u8);
    fn zkvm_u256_eq_impl(a: *const u8, b: *const u8) -> bool;
    fn zkvm_u256_cmp_impl(a: *const u8, b: *const u8) -> Ordering;
}

type Binary = unsafe extern "C" fn(*mut u8, *const u8, *const u8);

/// Little-endian bytes, aligned as the instructions need them. Operations wrap modulo 2^256.
#[derive(Clone)]
#[repr(C, align(4))]
pub struct U256([u8; 32]);

impl From<u32> for U256 {
    fn from(value: u32) -> Self {
        let mut bytes = [0; 32];
        bytes[..4].copy_from_slice(&value.to_le_bytes());
        Self(bytes)
    }
}

impl U256 {
    #[inline(always)]
    fn binary(&self, other: &Self, operation: Binary) -> Self {
        let mut result = Self([0; 32]);
        // SAFETY: three distinct 32-byte buffers aligned to 4 bytes; the result is written, the others read.
        unsafe { operation(result.0.as_mut_ptr(), self.0.as_ptr(), other.0.as_ptr()) };
        result
    }

    pub fn add(&self, other: &Self) -> Self {
        self.binary(other, zkvm_u256_wrapping_add_impl)
    }

    pub fn sub(&self, other: &Self) -> Self {
        self.binary(other, zkvm_u256_wrapping_sub_impl)
    }

    pub fn mul(&self, other: &Self) -> Self {
        self.binary(other, zkvm_u256_wrapping_mul_impl)
    }

    pub fn and(&self, other: &Self) -> Self {
        self.binary(other, zkvm_u256_bitand_impl)
    }

    pub fn shl(&self, bits: &Self) -> Self {
        self.binary(bits, zkvm_u256_wrapping_shl_impl)
    }

    pub fn shr(&self, bits: &Self) -> Self {
        self.binary(bits, zkvm_u256_wrapping_shr_impl)
    }

    /// `self - modulus` where `self` is not smaller: the residue of a number below twice the modulus.
    pub fn reduce_once(self, modulus: &Self) -> Self {
        // SAFETY: two 32-byte buffers aligned to 4 bytes, only read.
        let order = unsafe { zkvm_u256_cmp_impl(self.0.as_ptr(), modulus.0.as_ptr()) };
        match order {
            Ordering::Less => self,
            _ => self.sub(modulus),
        }
    }
}

impl PartialEq for U256 {
    fn eq(&self, other: &Self) -> bool {
        // SAFETY: two 32-byte buffers aligned to 4 bytes, only read.
        unsafe { zkvm_u256_eq_impl(self.0.as_ptr(), other.0.as_ptr()) }
    }
}
