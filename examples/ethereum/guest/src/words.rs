//! 256-bit arithmetic by OpenVM's bigint instructions.

use core::arch::asm;

use alloy_primitives::U256;
use ethereum_core::Words;
use openvm_bigint_guest::{Int256Funct7, BEQ256_FUNCT3, INT256_FUNCT3, OPCODE};

use crate::{crypto::Extensions, modexp};

const ADD: u8 = Int256Funct7::Add as u8;
const SUB: u8 = Int256Funct7::Sub as u8;
const MUL: u8 = Int256Funct7::Mul as u8;
const AND: u8 = Int256Funct7::And as u8;
const OR: u8 = Int256Funct7::Or as u8;
const XOR: u8 = Int256Funct7::Xor as u8;
const SLTU: u8 = Int256Funct7::Sltu as u8;
const SLT: u8 = Int256Funct7::Slt as u8;
const SLL: u8 = Int256Funct7::Sll as u8;
const SRL: u8 = Int256Funct7::Srl as u8;
const SRA: u8 = Int256Funct7::Sra as u8;

/// Executes `to = a OPERATION b`. The operands may be the same words.
///
/// # Safety
///
/// 32 bytes at `a` and at `b` can be read, and 32 at `to` written; all are aligned to four bytes.
#[inline(always)]
unsafe fn int256<const OPERATION: u8>(to: *mut U256, a: *const U256, b: *const U256) {
    // SAFETY: the caller guarantees lengths and alignment.
    unsafe {
        asm!(
            ".insn r {opcode}, {funct3}, {operation}, {to}, {a}, {b}",
            opcode = const OPCODE,
            funct3 = const INT256_FUNCT3,
            operation = const OPERATION,
            to = in(reg) to,
            a = in(reg) a,
            b = in(reg) b,
            options(nostack, preserves_flags),
        );
    }
}

/// Defines a method of two operands: `b = a OPERATION b`, or with `swapped` `b = b OPERATION a`.
macro_rules! binary {
    ($name:ident, $operation:ident) => {
        #[inline(always)]
        fn $name(a: &U256, b: &mut U256) {
            let b: *mut U256 = b;
            // SAFETY: references to words are aligned to 64 bits and have 32 bytes.
            unsafe { int256::<$operation>(b, a, b) }
        }
    };
    ($name:ident, $operation:ident, swapped) => {
        #[inline(always)]
        fn $name(a: &U256, b: &mut U256) {
            let b: *mut U256 = b;
            // SAFETY: references to words are aligned to 64 bits and have 32 bytes.
            unsafe { int256::<$operation>(b, b, a) }
        }
    };
}

pub(crate) static ZERO: U256 = U256::ZERO;
static ONE: U256 = U256::ONE;
static MAX: U256 = U256::MAX;

/// Defines a shift. The instruction takes the amount modulo 256, so amounts of 256 and more are handled apart.
macro_rules! shift {
    ($name:ident, $operation:ident, $beyond:expr) => {
        #[inline(always)]
        fn $name(shift: &U256, value: &mut U256) {
            let to: *mut U256 = value;
            match Self::to_u32(shift) {
                // SAFETY: references to words are aligned to 64 bits and have 32 bytes.
                Some(..256) => unsafe { int256::<$operation>(to, to, shift) },
                _ => $beyond(value),
            }
        }
    };
}

// SAFETY: the instruction of `copy` writes 32 bytes.
unsafe impl Words for Extensions {
    #[inline(always)]
    unsafe fn copy(from: *const U256, to: *mut U256) {
        // SAFETY: the caller guarantees lengths and alignment.
        unsafe { int256::<ADD>(to, from, &ZERO) }
    }

    #[inline(always)]
    fn is_zero(a: &U256) -> bool {
        words_equal(a, &ZERO)
    }

    #[inline(always)]
    fn to_u32(a: &U256) -> Option<u32> {
        // Equal to its lowest 32 bits.
        let low = a.as_limbs()[0] as u32;
        words_equal(a, &U256::from(low)).then_some(low)
    }

    binary!(add, ADD);
    binary!(sub, SUB);
    binary!(mul, MUL);
    fn mul_mod(a: U256, b: U256, modulus: U256) -> U256 {
        modexp::product(a, b, modulus).unwrap_or_else(|| a.mul_mod(b, modulus))
    }

    binary!(and, AND);
    binary!(or, OR);
    binary!(xor, XOR);
    binary!(lt, SLTU);
    binary!(gt, SLTU, swapped);
    binary!(slt, SLT);
    binary!(sgt, SLT, swapped);

    #[inline(always)]
    fn not(a: &mut U256) {
        Self::xor(&MAX, a);
    }

    #[inline(always)]
    fn eq(a: &U256, b: &mut U256) {
        Self::xor(a, b);
        Self::iszero(b);
    }

    #[inline(always)]
    fn iszero(a: &mut U256) {
        Self::gt(&ONE, a);
    }

    shift!(shl, SLL, |value: &mut U256| *value = U256::ZERO);
    shift!(shr, SRL, |value: &mut U256| *value = U256::ZERO);
    shift!(sar, SRA, |value: &mut U256| {
        *value = if value.bit(255) { MAX } else { ZERO }
    });
}

#[inline(always)]
fn words_equal(a: &U256, b: &U256) -> bool {
    let equal: u32;
    // SAFETY: references to words are aligned to 64 bits and have 32 bytes; the branch goes over one instruction.
    unsafe {
        asm!(
            ".option push",
            ".option norvc",
            "li {equal}, 1",
            ".insn b {opcode}, {funct3}, {a}, {b}, 8",
            "li {equal}, 0",
            ".option pop",
            opcode = const OPCODE,
            funct3 = const BEQ256_FUNCT3,
            a = in(reg) a,
            b = in(reg) b,
            equal = out(reg) equal,
            options(readonly, nostack),
        );
    }
    equal == 1
}
