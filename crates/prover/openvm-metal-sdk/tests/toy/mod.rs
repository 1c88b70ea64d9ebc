//! Small programs, written instruction by instruction.

use openvm_circuit::arch::instructions::{exe::VmExe, program::Program};
use openvm_sdk_config::{SdkVmConfig, TranspilerConfig};
use p3_baby_bear::BabyBear as F;

use crate::riscv::{add, addi, bne, lui, lw, reveal, sw, terminate, TEXT};

/// An executable of these instructions; `memory` maps bytes of address space 2 to values.
pub fn executable(config: &SdkVmConfig, code: &[u32], memory: &[(u32, u8)]) -> VmExe<F> {
    let code = config.transpiler().transpile(code).unwrap();
    let program = Program::new_without_debug_infos_with_option(&code, TEXT);
    let memory = memory.iter().map(|&(byte, value)| ((2, byte), value));
    VmExe::new(program)
        .with_pc_start(TEXT)
        .with_init_memory(memory.collect())
}

/// 26 instructions that add to a word at 64 MiB, which the initial memory gives a value.
pub fn word_at_64_mib(config: &SdkVmConfig) -> VmExe<F> {
    let mut code = vec![lui(5, 64 << 8), lw(6, 5, 0), addi(6, 6, 77), sw(6, 5, 0)];
    code.extend((0..20).map(|i| addi(7 + i as u32 % 3, 6, i)));
    code.extend([reveal(6, 0), terminate(0)]);
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
        bne(6, 0, -20),
        reveal(7, 0),
        reveal(5, 28),
        terminate(0),
    ];
    let data: Vec<_> = (0..2048).map(|i| (0x0020_0000 + 3 * i, i as u8)).collect();
    executable(config, &code, &data)
}
