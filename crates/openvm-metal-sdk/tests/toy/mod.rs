//! Small programs, written instruction by instruction.

use openvm_circuit::arch::instructions::{exe::VmExe, program::Program};
use openvm_sdk_config::{SdkVmConfig, TranspilerConfig};
use p3_baby_bear::BabyBear as F;

const PC_START: u32 = 0x0020_0800;

pub fn lui(rd: u32, upper: u32) -> u32 {
    upper << 12 | rd << 7 | 0x37
}

pub fn addi(rd: u32, rs1: u32, immediate: i32) -> u32 {
    (immediate as u32) << 20 | rs1 << 15 | rd << 7 | 0x13
}

pub fn add(rd: u32, rs1: u32, rs2: u32) -> u32 {
    rs2 << 20 | rs1 << 15 | rd << 7 | 0x33
}

/// Stores `rs2` at `rs1 + offset`, `0 <= offset < 2048`.
pub fn sw(rs2: u32, rs1: u32, offset: u32) -> u32 {
    (offset >> 5) << 25 | rs2 << 20 | rs1 << 15 | 2 << 12 | (offset & 31) << 7 | 0x23
}

pub fn lw(rd: u32, rs1: u32, offset: u32) -> u32 {
    offset << 20 | rs1 << 15 | 2 << 12 | rd << 7 | 0x03
}

/// Jumps `back` bytes back, at most 4094, if the registers differ.
pub fn bne_back(rs1: u32, rs2: u32, back: u32) -> u32 {
    let offset = back.wrapping_neg();
    let bit = |i: u32| offset >> i & 1;
    bit(12) << 31
        | (offset >> 5 & 63) << 25
        | rs2 << 20
        | rs1 << 15
        | 1 << 12
        | (offset >> 1 & 15) << 8
        | bit(11) << 7
        | 0x63
}

/// Makes `rs` the public values from byte `offset` on.
pub fn reveal(rs: u32, offset: u32) -> u32 {
    offset << 20 | rs << 15 | 2 << 12 | 0x0b
}

pub fn terminate() -> u32 {
    0x0b
}

/// An executable of these instructions; `memory` maps bytes of address space 2 to values.
pub fn executable(config: &SdkVmConfig, code: &[u32], memory: &[(u32, u8)]) -> VmExe<F> {
    let code = config.transpiler().transpile(code).unwrap();
    let program = Program::new_without_debug_infos_with_option(&code, PC_START);
    let memory = memory.iter().map(|&(byte, value)| ((2, byte), value));
    VmExe::new(program)
        .with_pc_start(PC_START)
        .with_init_memory(memory.collect())
}

/// 26 instructions that add to a word at 64 MiB, which the initial memory gives a value.
pub fn word_at_64_mib(config: &SdkVmConfig) -> VmExe<F> {
    let mut code = vec![lui(5, 64 << 8), lw(6, 5, 0), addi(6, 6, 77), sw(6, 5, 0)];
    code.extend((0..20).map(|i| addi(7 + i as u32 % 3, 6, i)));
    code.extend([reveal(6, 0), terminate()]);
    executable(config, &code, &[(64 << 20, 5)])
}

/// A loop over `rounds` words from 2 MiB on, as a program with its data and stack there.
pub fn small(config: &SdkVmConfig, rounds: u32) -> VmExe<F> {
    let code = [
        lui(5, 0x200),
        lui(6, rounds >> 12),
        addi(6, 6, (rounds & 0x7ff) as i32),
        // the loop:
        lw(7, 5, 4),
        add(7, 7, 6),
        sw(7, 5, 0),
        addi(5, 5, 4),
        addi(6, 6, -1),
        bne_back(6, 0, 20),
        reveal(7, 0),
        reveal(5, 28),
        terminate(),
    ];
    let data: Vec<_> = (0..2048).map(|i| (0x0020_0000 + 3 * i, i as u8)).collect();
    executable(config, &code, &data)
}
