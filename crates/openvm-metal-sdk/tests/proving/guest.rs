//! Guests in RISC-V words, as an ELF.

use openvm_transpiler::elf::Elf;

/// Where guest code starts, as in OpenVM's linker settings.
const TEXT: u32 = 0x0020_0800;
/// A place in memory for data.
const DATA: i32 = 0x100;

const CUSTOM: u32 = 0x0b;
const TERMINATE: u32 = 0;
const HINT: u32 = 1;
const REVEAL: u32 = 2;
const PHANTOM: u32 = 3;

pub fn i_type(opcode: u32, funct3: u32, rd: u32, rs1: u32, imm: i32) -> u32 {
    opcode | rd << 7 | funct3 << 12 | rs1 << 15 | (imm as u32) << 20
}

fn s_type(funct3: u32, rs1: u32, rs2: u32, imm: i32) -> u32 {
    let imm = imm as u32;
    0x23 | (imm & 0x1f) << 7 | funct3 << 12 | rs1 << 15 | rs2 << 20 | (imm >> 5 & 0x7f) << 25
}

fn bne(rs1: u32, rs2: u32, offset: i32) -> u32 {
    let o = offset as u32;
    let low = (o >> 11 & 1) << 7 | (o >> 1 & 0xf) << 8;
    let high = (o >> 5 & 0x3f) << 25 | (o >> 12 & 1) << 31;
    0x63 | 1 << 12 | rs1 << 15 | rs2 << 20 | low | high
}

pub fn addi(rd: u32, rs1: u32, imm: i32) -> u32 {
    i_type(0x13, 0, rd, rs1, imm)
}

fn add(rd: u32, rs1: u32, rs2: u32) -> u32 {
    0x33 | rd << 7 | rs1 << 15 | rs2 << 20
}

fn lui(rd: u32, upper: u32) -> u32 {
    0x37 | rd << 7 | upper << 12
}

fn lw(rd: u32, rs1: u32, imm: i32) -> u32 {
    i_type(0x03, 2, rd, rs1, imm)
}

fn sw(rs2: u32, rs1: u32, imm: i32) -> u32 {
    s_type(2, rs1, rs2, imm)
}

pub fn terminate(code: i32) -> u32 {
    i_type(CUSTOM, TERMINATE, 0, 0, code)
}

/// Makes the word in `value` public at byte `offset`.
fn reveal(value: u32, offset: i32) -> u32 {
    i_type(CUSTOM, REVEAL, 0, value, offset)
}

fn hint_input() -> u32 {
    i_type(CUSTOM, PHANTOM, 0, 0, 0)
}

/// Takes the next word of the hint to the address in `rd`.
fn hint_word(rd: u32) -> u32 {
    i_type(CUSTOM, HINT, rd, 0, 0)
}

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

/// What `sums(n)` reveals first.
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
pub fn elf(code: &[u32]) -> Elf {
    openvm_metal_sdk::decode_elf(&elf_bytes(code)).expect("the tests write a valid ELF")
}

/// The bytes of an ELF with one executable segment.
pub fn elf_bytes(code: &[u32]) -> Vec<u8> {
    let size = 4 * code.len() as u32;
    let mut bytes = vec![0x7f, b'E', b'L', b'F', 1, 1, 1, 0];
    bytes.resize(16, 0);
    let half = |bytes: &mut Vec<u8>, x: u16| bytes.extend(x.to_le_bytes());
    let word = |bytes: &mut Vec<u8>, x: u32| bytes.extend(x.to_le_bytes());
    half(&mut bytes, 2); // executable
    half(&mut bytes, 243); // RISC-V
    for x in [1, TEXT, 52, 0, 0] {
        word(&mut bytes, x); // version, entry, program headers, section headers, flags
    }
    for x in [52, 32, 1, 0, 0, 0] {
        half(&mut bytes, x); // sizes and counts of the headers
    }
    for x in [1, 84, TEXT, TEXT, size, size, 5, 4] {
        word(&mut bytes, x); // load, readable and executable
    }
    for &x in code {
        word(&mut bytes, x);
    }
    bytes
}
