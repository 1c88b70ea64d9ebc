//! Keccak-256 by the extension's instructions.

use core::{mem::MaybeUninit, ptr};
use openvm_keccak256_guest::{native_keccakf, native_xorin, KECCAK_RATE as RATE};

/// A multiple of four bytes, aligned as the instructions need it.
#[repr(C, align(4))]
struct Aligned<const N: usize>([u8; N]);

/// The function that alloy-primitives calls for every hash.
///
/// # Safety
///
/// `bytes` has `length` bytes to read, and `output` 32 to write.
#[no_mangle]
unsafe extern "C" fn native_keccak256(bytes: *const u8, length: usize, output: *mut u8) {
    let mut state = Aligned([0; 200]);
    let state = state.0.as_mut_ptr();
    let mut block = MaybeUninit::<Aligned<RATE>>::uninit();
    let block = block.as_mut_ptr().cast::<u8>();
    let is_aligned = bytes as usize % 4 == 0;
    let (mut at, mut left) = (bytes, length);
    while left >= RATE {
        let input = if is_aligned {
            at
        } else {
            // SAFETY: RATE bytes are left, and the block has as many.
            unsafe { ptr::copy_nonoverlapping(at, block, RATE) };
            block.cast_const()
        };
        // SAFETY: state and input are aligned and have RATE bytes; the state has 200.
        unsafe {
            native_xorin(state, input, RATE);
            native_keccakf(state);
            at = at.add(RATE);
        }
        left -= RATE;
    }
    // SAFETY: `left` bytes are there, less than the block and the state have. Whole words are taken by the instruction, and the
    // bytes that follow them, the padding among them, one by one.
    unsafe {
        let words = left & !3;
        if words > 0 {
            let input = if is_aligned {
                at
            } else {
                ptr::copy_nonoverlapping(at, block, words);
                block.cast_const()
            };
            native_xorin(state, input, words);
        }
        for byte in words..left {
            *state.add(byte) ^= *at.add(byte);
        }
        *state.add(left) ^= 1;
        *state.add(RATE - 1) ^= 0x80;
        native_keccakf(state);
        ptr::copy_nonoverlapping(state, output, 32);
    }
}
