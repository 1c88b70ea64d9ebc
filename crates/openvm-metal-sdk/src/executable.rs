//! Executables: from an ELF, checked against a configuration, and identified by their contents.

use std::sync::Arc;

use openvm_circuit::arch::{
    instructions::{
        exe::VmExe,
        program::{DEFAULT_PC_STEP, MAX_ALLOWED_PC},
        LocalOpcode, SystemOpcode,
    },
    VmExecutionConfig,
};
use openvm_sdk::types::ExecutableFormat;
use openvm_sdk_config::{SdkVmConfig, TranspilerConfig};
use openvm_stark_backend::p3_field::PrimeField32;
use openvm_transpiler::{
    elf::Elf,
    transpiler::{Transpiler, TranspilerError},
    FromElf,
};
use sha2::{Digest as _, Sha256};

use crate::{
    error::{catch_panic, guard, SdkError, Stage},
    memory_config, moduli,
    prelude::F,
};

/// SHA-256 of everything of an executable that a proof depends on.
pub type ExeDigest = [u8; 32];

/// The executable of an ELF under a configuration, or an executable as it is, checked against the
/// configuration.
///
/// # Errors
/// [`SdkError::UnknownInstruction`] for an instruction of an extension that the configuration lacks;
/// [`SdkError::Executable`] for an executable that cannot run under it.
pub fn executable(
    config: &SdkVmConfig,
    source: impl Into<ExecutableFormat>,
) -> Result<Arc<VmExe<F>>, SdkError> {
    moduli::check(config)?;
    memory_config::check(&config.system.config)?;
    // OpenVM's conversion from bytes panics if they are no ELF.
    let source = guard(Stage::Transpile, || source.into())?;
    let exe = match source {
        ExecutableFormat::Elf(elf) => Arc::new(transpile(config, elf)?),
        ExecutableFormat::VmExe(exe) => Arc::new(exe),
        ExecutableFormat::SharedVmExe(exe) => exe,
    };
    check(config, &exe)?;
    Ok(exe)
}

fn transpile(config: &SdkVmConfig, elf: Elf) -> Result<VmExe<F>, SdkError> {
    let words = elf.instructions.clone();
    let result = guard(Stage::Transpile, || {
        VmExe::from_elf(elf, config.transpiler())
    });
    match result {
        Ok(Ok(exe)) => Ok(exe),
        Ok(Err(TranspilerError::ParseError(_))) | Err(_) => Err(first_unknown(config, &words)
            .unwrap_or_else(|| SdkError::Executable("its code cannot be transpiled".into()))),
        Ok(Err(other)) => Err(SdkError::Executable(other.to_string())),
    }
}

/// The first word that the configuration does not know, or that its transpilers panic on.
fn first_unknown(config: &SdkVmConfig, words: &[u32]) -> Option<SdkError> {
    let transpiler = config.transpiler();
    let index = words
        .iter()
        .position(|&word| !is_known(&transpiler, word))?;
    let word = words[index];
    Some(SdkError::UnknownInstruction {
        offset: index as u32 * DEFAULT_PC_STEP,
        word,
        extension: extension_of(word),
    })
}

fn is_known(transpiler: &Transpiler<F>, word: u32) -> bool {
    catch_panic(|| transpiler.transpile(&[word]).is_ok()).unwrap_or(false)
}

/// The extension whose transpiler knows an instruction, by its name in `openvm.toml`.
fn extension_of(word: u32) -> Option<&'static str> {
    let standard = SdkVmConfig::standard();
    let none = || SdkVmConfig::builder().system(Default::default());
    let one = [
        ("rv32i", none().rv32i(Default::default()).build()),
        ("rv32m", none().rv32m(Default::default()).build()),
        ("io", none().io(Default::default()).build()),
        ("keccak", none().keccak(Default::default()).build()),
        ("sha2", none().sha2(Default::default()).build()),
        ("bigint", none().bigint(Default::default()).build()),
        ("modular", none().maybe_modular(standard.modular).build()),
        ("fp2", none().maybe_fp2(standard.fp2).build()),
        ("ecc", none().maybe_ecc(standard.ecc).build()),
        ("pairing", none().maybe_pairing(standard.pairing).build()),
    ];
    one.iter()
        .find(|(_, config)| is_known(&config.transpiler(), word))
        .map(|&(name, _)| name)
}

/// Checks what OpenVM's interpreters assume: known opcodes, addresses inside the address spaces, a program that is not
/// empty and whose addresses fit a program counter.
fn check(config: &SdkVmConfig, exe: &VmExe<F>) -> Result<(), SdkError> {
    let bad = |reason: String| Err(SdkError::Executable(reason));
    let program = &exe.program;
    if program.num_defined_instructions() == 0 {
        return bad("it has no instructions".into());
    }
    let end = u64::from(program.pc_base) + program.len() as u64 * u64::from(DEFAULT_PC_STEP);
    if end > u64::from(MAX_ALLOWED_PC) + 1 {
        return bad(format!(
            "its code ends at {end:#x}, program counters end at {MAX_ALLOWED_PC:#x}"
        ));
    }
    if exe.pc_start < program.pc_base || u64::from(exe.pc_start) >= end {
        return bad(format!(
            "it starts at {:#x}, outside its code from {:#x} to {end:#x}",
            exe.pc_start, program.pc_base
        ));
    }

    let executors = catch_panic(|| VmExecutionConfig::<F>::create_executors(config))
        .map_err(|_| SdkError::Config("no virtual machine has such extensions".into()))?
        .map_err(|error| SdkError::machine(Stage::Execute, error, 0))?;
    let terminate = SystemOpcode::TERMINATE.global_opcode();
    for (index, slot) in program.instructions_and_debug_infos.iter().enumerate() {
        let Some((instruction, _)) = slot else {
            continue;
        };
        let opcode = instruction.opcode;
        if opcode != terminate && !executors.instruction_lookup.contains_key(&opcode) {
            let pc = u64::from(program.pc_base) + index as u64 * u64::from(DEFAULT_PC_STEP);
            return bad(format!(
                "the instruction at {pc:#x} has opcode {:#x}{}",
                opcode.as_usize(),
                extension_of_opcode(opcode.as_usize())
                    .map_or_else(
                        || ", which no extension has".into(),
                        |name| format!(" of the extension `{name}`, which openvm.toml lacks: add [app_vm_config.{name}]")
                    )
            ));
        }
    }

    let spaces = &config.system.config.memory_config.addr_spaces;
    for &(space, address) in exe.init_memory.keys() {
        let size = spaces.get(space as usize).map_or(0, |space| space.size());
        if address as usize >= size {
            return bad(format!(
                "its initial memory has a byte at {address:#x} of address space {space}, which has {size} bytes"
            ));
        }
    }
    Ok(())
}

/// The extension that executes an opcode, by its name in `openvm.toml`.
fn extension_of_opcode(opcode: usize) -> Option<&'static str> {
    // The opcode offsets of the extensions of OpenVM 2.
    Some(match opcode {
        0x200..=0x24f => "rv32i",
        0x250..=0x25f => "rv32m",
        0x260..=0x26f => "io",
        0x310..=0x31f => "keccak",
        0x320..=0x32f => "sha2",
        0x400..=0x4ff => "bigint",
        0x500..=0x5ff => "modular",
        0x600..=0x6ff => "ecc",
        0x710..=0x7ff => "fp2",
        0x800..=0x8ff => "deferral",
        _ => return None,
    })
}

/// Identifies an executable by its contents.
pub fn digest(exe: &VmExe<F>) -> ExeDigest {
    let mut hash = Sha256::new();
    let mut word = |x: u32| hash.update(x.to_le_bytes());
    word(exe.pc_start);
    word(exe.program.pc_base);
    word(exe.program.len() as u32);
    for slot in &exe.program.instructions_and_debug_infos {
        let Some((i, _)) = slot else {
            word(u32::MAX);
            continue;
        };
        word(i.opcode.as_usize() as u32);
        for operand in [i.a, i.b, i.c, i.d, i.e, i.f, i.g] {
            word(operand.as_canonical_u32());
        }
    }
    // Memory without an entry is zero.
    for (&(space, address), &byte) in exe.init_memory.iter().filter(|(_, &byte)| byte != 0) {
        word(space);
        word(address);
        word(u32::from(byte));
    }
    hash.finalize().into()
}

/// True if the instruction at `pc` ends the program.
pub(crate) fn is_end(exe: &VmExe<F>, pc: u32) -> bool {
    let index = pc.wrapping_sub(exe.program.pc_base) / DEFAULT_PC_STEP;
    exe.program
        .get_instruction_and_debug_info(index as usize)
        .is_some_and(|(i, _)| i.opcode == SystemOpcode::TERMINATE.global_opcode())
}
