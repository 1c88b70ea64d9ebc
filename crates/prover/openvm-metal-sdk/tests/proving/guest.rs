//! Guests in RISC-V words, as an ELF.

use openvm_metal_sdk::GuestElf;

use crate::riscv::{
    add, addi, bne, hint_input, hint_word, lui, lw, reveal, sw, terminate, CUSTOM, TEXT,
};

/// A place in memory for data.
const DATA: i32 = 0x100;

/// Adds 1 to `n` over and over through memory, about 4 instructions a round, and reveals the sum and an input word.
///
/// The input: one vector of 4 bytes.
pub fn sums(n: u32) -> Vec<u32> {
    assert!(n < 1 << 19);
    let mut code = vec![
        lui(10, n >> 12),
        addi(10, 10, (n & 0xfff) as i32),
        addi(11, 0, DATA),
        sw(0, 11, 0),
    ];
    if n & 0x800 != 0 {
        // The immediate of addi is signed.
        code[0] = lui(10, (n >> 12) + 1);
    }
    let round = [
        lw(12, 11, 0),
        add(12, 12, 10),
        sw(12, 11, 0),
        addi(10, 10, -1),
    ];
    code.extend(round);
    code.push(bne(10, 0, -4 * round.len() as i32));
    code.extend([
        lw(12, 11, 0),
        reveal(12, 0),
        hint_input(),
        addi(13, 0, DATA + 16),
        hint_word(13),
        hint_word(13),
        lw(14, 13, 0),
        reveal(14, 4),
        terminate(0),
    ]);
    code
}

/// First value that `sums(n)` reveals.
pub fn sum(n: u32) -> u32 {
    (1..=n).fold(0, u32::wrapping_add)
}

/// Jumps to itself for ever.
pub fn endless() -> Vec<u32> {
    vec![addi(10, 0, 1), bne(10, 0, 0), terminate(0)]
}

/// Asks for an input.
pub fn wants_input() -> Vec<u32> {
    vec![hint_input(), terminate(0)]
}

/// Loads from the end of the 32-bit address space.
pub fn wild_load() -> Vec<u32> {
    vec![addi(10, 0, -16), lw(11, 10, 0), terminate(0)]
}

/// Calls Keccak's extension.
pub fn keccak() -> Vec<u32> {
    // custom-0, funct3 4, funct7 0.
    vec![
        CUSTOM | 4 << 12 | 10 << 7 | 11 << 15 | 12 << 20,
        terminate(0),
    ]
}

/// The ELF of a guest.
pub fn elf(code: &[u32]) -> GuestElf {
    openvm_metal_sdk::decode_elf(&elf_bytes(code)).expect("the tests write a valid ELF")
}

/// The bytes of an ELF with one executable segment.
pub fn elf_bytes(code: &[u32]) -> Vec<u8> {
    elf_bytes_at(TEXT, code)
}

/// The bytes of an ELF whose only segment is code at an address.
pub fn elf_bytes_at(text: u32, code: &[u32]) -> Vec<u8> {
    let size = 4 * code.len() as u32;
    let mut bytes = vec![0x7f, b'E', b'L', b'F', 1, 1, 1, 0];
    bytes.resize(16, 0);
    let half = |bytes: &mut Vec<u8>, x: u16| bytes.extend(x.to_le_bytes());
    let word = |bytes: &mut Vec<u8>, x: u32| bytes.extend(x.to_le_bytes());
    half(&mut bytes, 2); // executable
    half(&mut bytes, 243); // RISC-V
    for x in [1, text, 52, 0, 0] {
        word(&mut bytes, x); // version, entry, program headers, section headers, flags
    }
    for x in [52, 32, 1, 0, 0, 0] {
        half(&mut bytes, x); // sizes and counts of the headers
    }
    for x in [1, 84, text, text, size, size, 5, 4] {
        word(&mut bytes, x); // load, readable and executable
    }
    for &x in code {
        word(&mut bytes, x);
    }
    bytes
}
