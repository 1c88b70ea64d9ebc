//! Words of RISC-V instructions and of OpenVM's own, for programs written instruction by instruction.
#![allow(dead_code, reason = "each program uses some")]

/// Start of code, as in OpenVM's linker settings.
pub const TEXT: u32 = 0x0020_0800;

pub const CUSTOM: u32 = 0x0b;
const TERMINATE: u32 = 0;
const HINT: u32 = 1;
const REVEAL: u32 = 2;
const PHANTOM: u32 = 3;

pub fn i_type(opcode: u32, funct3: u32, rd: u32, rs1: u32, imm: i32) -> u32 {
    opcode | rd << 7 | funct3 << 12 | rs1 << 15 | (imm as u32) << 20
}

pub fn r_type(funct7: u32, funct3: u32, rd: u32, rs1: u32, rs2: u32) -> u32 {
    0x33 | rd << 7 | funct3 << 12 | rs1 << 15 | rs2 << 20 | funct7 << 25
}

pub fn s_type(funct3: u32, rs1: u32, rs2: u32, imm: i32) -> u32 {
    let imm = imm as u32;
    0x23 | (imm & 0x1f) << 7 | funct3 << 12 | rs1 << 15 | rs2 << 20 | (imm >> 5 & 0x7f) << 25
}

/// A branch `offset` bytes on, from -4096 to 4094.
pub fn b_type(funct3: u32, rs1: u32, rs2: u32, offset: i32) -> u32 {
    let o = offset as u32;
    let low = (o >> 11 & 1) << 7 | (o >> 1 & 0xf) << 8;
    let high = (o >> 5 & 0x3f) << 25 | (o >> 12 & 1) << 31;
    0x63 | funct3 << 12 | rs1 << 15 | rs2 << 20 | low | high
}

/// Jumps `offset` bytes, at most 4094 back or on, if the registers differ.
pub fn bne(rs1: u32, rs2: u32, offset: i32) -> u32 {
    b_type(1, rs1, rs2, offset)
}

/// Jumps `offset` bytes, less than 1 MiB back or on, and writes the return address to `rd`.
pub fn jal(rd: u32, offset: i32) -> u32 {
    let o = offset as u32;
    let low = (o >> 12 & 0xff) << 12 | (o >> 11 & 1) << 20;
    let high = (o >> 1 & 0x3ff) << 21 | (o >> 20 & 1) << 31;
    0x6f | rd << 7 | low | high
}

pub fn jalr(rd: u32, rs1: u32, imm: i32) -> u32 {
    i_type(0x67, 0, rd, rs1, imm)
}

pub fn auipc(rd: u32, upper: u32) -> u32 {
    0x17 | rd << 7 | upper << 12
}

pub fn addi(rd: u32, rs1: u32, imm: i32) -> u32 {
    i_type(0x13, 0, rd, rs1, imm)
}

pub fn add(rd: u32, rs1: u32, rs2: u32) -> u32 {
    0x33 | rd << 7 | rs1 << 15 | rs2 << 20
}

pub fn lui(rd: u32, upper: u32) -> u32 {
    0x37 | rd << 7 | upper << 12
}

pub fn lw(rd: u32, rs1: u32, imm: i32) -> u32 {
    i_type(0x03, 2, rd, rs1, imm)
}

pub fn sw(rs2: u32, rs1: u32, imm: i32) -> u32 {
    s_type(2, rs1, rs2, imm)
}

pub fn terminate(code: i32) -> u32 {
    i_type(CUSTOM, TERMINATE, 0, 0, code)
}

/// Makes the word in `value` public at byte `offset`.
pub fn reveal(value: u32, offset: i32) -> u32 {
    reveal_at(0, value, offset)
}

/// Makes the word in `value` public at byte `offset` from the one in `base`.
pub fn reveal_at(base: u32, value: u32, offset: i32) -> u32 {
    i_type(CUSTOM, REVEAL, base, value, offset)
}

pub fn hint_input() -> u32 {
    i_type(CUSTOM, PHANTOM, 0, 0, 0)
}

/// Takes the next word of the hint to the address in `rd`.
pub fn hint_word(rd: u32) -> u32 {
    i_type(CUSTOM, HINT, rd, 0, 0)
}

/// Takes as many words of the hint as `count` has to the address in `rd`.
pub fn hint_buffer(rd: u32, count: u32) -> u32 {
    i_type(CUSTOM, HINT, rd, count, 1)
}

/// Prints as many bytes as `count` has from the address in `rd`.
pub fn print(rd: u32, count: u32) -> u32 {
    i_type(CUSTOM, PHANTOM, rd, count, 1)
}

/// Makes as many words of random hints as `count` has.
pub fn hint_random(count: u32) -> u32 {
    i_type(CUSTOM, PHANTOM, count, 0, 2)
}
