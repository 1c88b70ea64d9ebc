//! Words of 256 bits by the instructions of the extension for big integers.

use core::arch::asm;

use alloy_primitives::U256;
use ethereum_core::Words;
use openvm_bigint_guest::{Int256Funct7, BEQ256_FUNCT3, INT256_FUNCT3, OPCODE};

use crate::crypto::Extensions;

const ADD: u8 = Int256Funct7::Add as u8;
const SUB: u8 = Int256Funct7::Sub as u8;
const MUL: u8 = Int256Funct7::Mul as u8;
const AND: u8 = Int256Funct7::And as u8;
const OR: u8 = Int256Funct7::Or as u8;
const XOR: u8 = Int256Funct7::Xor as u8;
const LESS: u8 = Int256Funct7::Sltu as u8;
const SIGNED_LESS: u8 = Int256Funct7::Slt as u8;
const LEFT: u8 = Int256Funct7::Sll as u8;
const RIGHT: u8 = Int256Funct7::Srl as u8;
const RIGHT_SIGNED: u8 = Int256Funct7::Sra as u8;

/// Executes `to = a OPERATION b`. The operands may be the same words.
///
/// # Safety
///
/// The pointers are aligned to words of 32 bits; `a` and `b` can be read, and `to` written.
#[inline(always)]
unsafe fn int256<const OPERATION: u8>(to: *mut U256, a: *const U256, b: *const U256) {
    // SAFETY: the caller's.
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
            // SAFETY: as above.
            unsafe { int256::<$operation>(b, b, a) }
        }
    };
}

static ZERO: U256 = U256::ZERO;
static ONE: U256 = U256::ONE;
static MAX: U256 = U256::MAX;

/// Shifts by less than 256 bits, which the instructions take modulo 256, and by more.
macro_rules! shift {
    ($name:ident, $operation:ident, $beyond:expr) => {
        #[inline(always)]
        fn $name(shift: &U256, value: &mut U256) {
            let to: *mut U256 = value;
            match Self::small(shift) {
                // SAFETY: as above.
                Some(..256) => unsafe { int256::<$operation>(to, to, shift) },
                _ => $beyond(value),
            }
        }
    };
}

impl Words for Extensions {
    #[inline(always)]
    unsafe fn copy(from: *const U256, to: *mut U256) {
        // SAFETY: the caller's.
        unsafe { int256::<ADD>(to, from, &ZERO) }
    }

    #[inline(always)]
    fn is_zero(a: &U256) -> bool {
        equal(a, &ZERO)
    }

    #[inline(always)]
    fn small(a: &U256) -> Option<u32> {
        // Equal to its lowest 32 bits.
        let low = a.as_limbs()[0] as u32;
        equal(a, &U256::from(low)).then_some(low)
    }

    binary!(add, ADD);
    binary!(sub, SUB);
    binary!(mul, MUL);
    binary!(and, AND);
    binary!(or, OR);
    binary!(xor, XOR);
    binary!(less, LESS);
    binary!(greater, LESS, swapped);
    binary!(signed_less, SIGNED_LESS);
    binary!(signed_greater, SIGNED_LESS, swapped);

    #[inline(always)]
    fn not(a: &mut U256) {
        Self::xor(&MAX, a);
    }

    #[inline(always)]
    fn equal(a: &U256, b: &mut U256) {
        Self::xor(a, b);
        Self::is_zero_word(b);
    }

    #[inline(always)]
    fn is_zero_word(a: &mut U256) {
        Self::greater(&ONE, a);
    }

    shift!(shift_left, LEFT, |value: &mut U256| *value = U256::ZERO);
    shift!(shift_right, RIGHT, |value: &mut U256| *value = U256::ZERO);
    shift!(shift_right_signed, RIGHT_SIGNED, |value: &mut U256| {
        *value = if value.bit(255) { MAX } else { ZERO }
    });
}

#[inline(always)]
fn equal(a: &U256, b: &U256) -> bool {
    let equal: u32;
    // SAFETY: references to words are aligned to 64 bits and have 32 bytes; the branch goes over one instruction.
    unsafe {
        asm!(
            "li {equal}, 1",
            ".insn b {opcode}, {funct3}, {a}, {b}, 8",
            "li {equal}, 0",
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
