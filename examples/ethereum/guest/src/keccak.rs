//! Keccak-256 by the extension's instructions.

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
    let mut block = Aligned([0; RATE]);
    let (mut at, mut left) = (bytes, length);
    while left >= RATE {
        let input = if at as usize % 4 == 0 {
            at
        } else {
            // SAFETY: RATE bytes are left, and the block has as many.
            unsafe { core::ptr::copy_nonoverlapping(at, block.0.as_mut_ptr(), RATE) };
            block.0.as_ptr()
        };
        // SAFETY: state and input are aligned and have RATE bytes; the state has 200.
        unsafe {
            native_xorin(state, input, RATE);
            native_keccakf(state);
            at = at.add(RATE);
        }
        left -= RATE;
    }
    // SAFETY: `left` bytes are there, less than the block has; those of an input that is aligned are whole words with its padding.
    unsafe { core::ptr::copy_nonoverlapping(at, block.0.as_mut_ptr(), left) };
    block.0[left..].fill(0);
    block.0[left] = 1;
    block.0[RATE - 1] |= 0x80;
    // SAFETY: as above; 32 of the state's 200 bytes are written to the output.
    unsafe {
        native_xorin(state, block.0.as_ptr(), RATE);
        native_keccakf(state);
        core::ptr::copy_nonoverlapping(state, output, 32);
    }
}
