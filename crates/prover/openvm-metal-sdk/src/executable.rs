//! Executables: from an ELF, checked against a configuration, and identified by their contents.

use std::sync::Arc;

use openvm_circuit::arch::{
    instructions::{
        exe::VmExe,
        program::{Program, DEFAULT_PC_STEP, MAX_ALLOWED_PC},
        riscv::RV32_MEMORY_AS,
        LocalOpcode, SystemOpcode,
    },
    VmExecutionConfig,
};
use openvm_rv32im_transpiler::Rv32JalLuiOpcode;
use openvm_sdk::types::ExecutableFormat;
use openvm_sdk_config::{SdkVmConfig, TranspilerConfig};
use openvm_stark_backend::p3_field::{PrimeCharacteristicRing, PrimeField32};
use openvm_transpiler::{
    elf::Elf,
    transpiler::{Transpiler, TranspilerError},
    FromElf,
};
use rayon::prelude::*;
use sha2::{Digest as _, Sha256};

use crate::{
    error::{catch_panic, guard, SdkError, Stage},
    guest_elf::{decode_elf, GuestElf},
    memory_config, moduli,
    prelude::F,
    table_sizes,
};

/// SHA-256 of everything of an executable that a proof depends on.
pub type ExeDigest = [u8; 32];

/// Rule for the words of an ELF that are traps: `unimp`, which `abort`, `std::process::exit` and unreachable code compile
/// to, `ecall`, `ebreak`, and instructions for control and status registers (CSRs).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Traps {
    /// Every such word ends the guest with exit code 2; words that RV32IM reserves are refused.
    #[default]
    End,
    /// The rule of OpenVM's transpiler, so that commitments are those of `cargo openvm`: it ignores `unimp` and other words
    /// `csrrw x0, CSR, x0`, after which the guest goes on with the next function. [`ignored_traps`] counts them.
    AsCargoOpenvm,
}

/// Exit code of a trap, as OpenVM's transpiler has it for instructions that it does not support.
pub(crate) const TRAP: u32 = 2;

/// Word of the instruction that ends a guest with exit code [`TRAP`].
const END_WITH_TRAP: u32 = TRAP << 20 | TERMINATE;

/// Bits of a word that are its opcode, and opcodes of RISC-V and of OpenVM.
const OPCODE: u32 = 0x7f;
const SHIFT_AND_OTHER_IMMEDIATES: u32 = 0x13;
const SYSTEM: u32 = 0x73;
const JALR: u32 = 0x67;
const JAL: u32 = 0x6f;
const TERMINATE: u32 = 0x0b;

/// Words that a thread transpiles at a time.
const PIECE_WORDS: usize = 1 << 14;

/// Most bytes below the code: OpenVM's interpreters keep an entry of tables for each word there, which is 20 times the bytes.
const MAX_BELOW_CODE: u32 = 1 << 26;

/// Bytes of the least jump that OpenVM's circuit does not take, forwards and back.
const JUMP_END: u32 = 1 << 20;

/// Bits of the register that an instruction writes.
const RD: u32 = 0x1f << 7;

/// `jal x0, -1048576`: the least offset.
const JAL_BY_MINUS_1_MIB: u32 = 1 << 31 | JAL;

/// Program of a guest, in each form that the SDK takes.
#[derive(Clone)]
#[non_exhaustive]
pub enum ProgramSource {
    /// ELF that [`decode_elf`] made.
    Guest(GuestElf),
    /// Bytes of an ELF.
    Bytes(Vec<u8>),
    /// ELF that OpenVM's own decoder made, which takes longer to transpile.
    Elf(Elf),
    /// Executable, which is not transpiled again.
    Exe(Arc<VmExe<F>>),
}

macro_rules! from {
    ($($type:ty: $value:ident => $source:expr),* $(,)?) => {
        $(impl From<$type> for ProgramSource {
            fn from($value: $type) -> Self {
                $source
            }
        })*
    };
}

from! {
    GuestElf: elf => Self::Guest(elf),
    Vec<u8>: bytes => Self::Bytes(bytes),
    &[u8]: bytes => Self::Bytes(bytes.to_vec()),
    Elf: elf => Self::Elf(elf),
    VmExe<F>: exe => Self::Exe(Arc::new(exe)),
    Arc<VmExe<F>>: exe => Self::Exe(exe),
    ExecutableFormat: format => match format {
        ExecutableFormat::Elf(elf) => Self::Elf(elf),
        ExecutableFormat::VmExe(exe) => Self::Exe(Arc::new(exe)),
        ExecutableFormat::SharedVmExe(exe) => Self::Exe(exe),
    },
}

/// The executable of an ELF under a configuration, or an executable as it is, checked against the
/// configuration. Traps end the guest.
///
/// # Errors
/// [`SdkError::Elf`] for bytes that are no ELF of a guest; [`SdkError::UnknownInstruction`] for a word that is no instruction, or one of
/// an extension that the configuration lacks;
/// [`SdkError::Executable`] for an executable that cannot run under it.
pub fn executable(
    config: &SdkVmConfig,
    source: impl Into<ProgramSource>,
) -> Result<Arc<VmExe<F>>, SdkError> {
    executable_with(config, source, Traps::End)
}

/// [`executable`] with a rule for traps. An executable that is given has its own.
///
/// # Errors
/// See [`executable`].
pub fn executable_with(
    config: &SdkVmConfig,
    source: impl Into<ProgramSource>,
    traps: Traps,
) -> Result<Arc<VmExe<F>>, SdkError> {
    moduli::check(config)?;
    table_sizes::check(config)?;
    memory_config::check(&config.system.config)?;
    let exe = match source.into() {
        ProgramSource::Guest(elf) => Arc::new(transpile_guest(config, &elf, traps)?),
        ProgramSource::Bytes(bytes) => {
            Arc::new(transpile_guest(config, &decode_elf(&bytes)?, traps)?)
        }
        ProgramSource::Elf(elf) => Arc::new(transpile_elf(config, elf, traps)?),
        ProgramSource::Exe(exe) => exe,
    };
    check(config, &exe)?;
    Ok(exe)
}

/// Number of traps that an executable ignores: words `csrrw x0, CSR, x0` in memory, `unimp` among them, at which its program
/// does nothing.
pub fn ignored_traps(exe: &VmExe<F>) -> usize {
    let nop = SystemOpcode::PHANTOM.global_opcode();
    let slots = exe.program.instructions_and_debug_infos.iter();
    let at = |index: usize| exe.program.pc_base + index as u32 * DEFAULT_PC_STEP;
    slots
        .enumerate()
        .filter(|(_, slot)| {
            let instruction = slot.as_ref().map(|(instruction, _)| instruction);
            instruction.is_some_and(|i| i.opcode == nop && i.c == F::ZERO)
        })
        .filter(|&(index, _)| is_ignored_trap(word_in_memory(exe, at(index))))
        .count()
}

/// Number of traps of an ELF that [`Traps::AsCargoOpenvm`] ignores.
pub fn ignored_traps_of_elf(elf: &GuestElf) -> usize {
    let words = elf.code().iter();
    words.filter(|&&word| is_ignored_trap(word)).count()
}

fn word_in_memory(exe: &VmExe<F>, address: u32) -> u32 {
    let byte = |at: u32| exe.init_memory.get(&(RV32_MEMORY_AS, at)).copied();
    let bytes = [0, 1, 2, 3].map(|i| byte(address.wrapping_add(i)).unwrap_or(0));
    u32::from_le_bytes(bytes)
}

/// `csrrw x0, CSR, x0`: OpenVM's transpiler takes it for a write to a register that does not matter.
fn is_ignored_trap(word: u32) -> bool {
    word & 0x000f_ffff == 1 << 12 | SYSTEM
}

fn refused(error: TranspilerError) -> SdkError {
    SdkError::Executable(error.to_string())
}

fn transpile_guest(
    config: &SdkVmConfig,
    elf: &GuestElf,
    traps: Traps,
) -> Result<VmExe<F>, SdkError> {
    let (program, mut init_memory) = rayon::join(
        || transpile(config, elf.code(), elf.pc_base(), traps),
        || elf.memory(),
    );
    let program = program?;
    guard(Stage::Transpile, || {
        config.transpiler().modify_initial_memory(&mut init_memory)
    })?
    .map_err(refused)?;
    Ok(VmExe {
        program,
        pc_start: elf.pc_start(),
        init_memory,
        fn_bounds: Default::default(),
    })
}

fn transpile_elf(config: &SdkVmConfig, mut elf: Elf, traps: Traps) -> Result<VmExe<F>, SdkError> {
    let words = std::mem::take(&mut elf.instructions);
    // The memory and the place of the code.
    let mut exe = guard(Stage::Transpile, || {
        VmExe::from_elf(elf, config.transpiler())
    })?
    .map_err(refused)?;
    exe.program = transpile(config, &words, exe.program.pc_base, traps)?;
    Ok(exe)
}

/// Instructions of words of code that begin at `start`.
fn transpile(
    config: &SdkVmConfig,
    words: &[u32],
    start: u32,
    traps: Traps,
) -> Result<Program<F>, SdkError> {
    let unknown = |index: usize, extension, reason| SdkError::UnknownInstruction {
        pc: start + index as u32 * DEFAULT_PC_STEP,
        word: words[index],
        extension,
        reason,
    };
    let mut ended = words.to_vec();
    for (index, word) in ended.iter_mut().enumerate() {
        if let Some(reason) = refusal(*word, traps) {
            return Err(unknown(index, None, reason));
        }
        // Of words that it does not ignore, OpenVM's transpiler makes the same, and prints a line for each.
        let ignored = traps == Traps::AsCargoOpenvm && is_ignored_trap(*word);
        if *word & OPCODE == SYSTEM && !ignored {
            *word = END_WITH_TRAP;
        }
    }
    // An instruction is one word, in all of OpenVM's extensions.
    let pieces = ended.par_chunks(PIECE_WORDS);
    let pieces = pieces.map(|words| catch_panic(|| config.transpiler().transpile(words)));
    // The first error of the program, whichever comes first.
    let pieces = pieces.collect::<Vec<_>>().into_iter();
    let pieces = match pieces.collect::<Result<Result<Vec<_>, _>, _>>() {
        Ok(Ok(pieces)) => pieces,
        Ok(Err(TranspilerError::ParseError(_))) | Err(_) => {
            let transpiler = &config.transpiler();
            let first = ended.iter().position(|&word| !is_known(transpiler, word));
            let reason = |word: u32| match word & 3 {
                3 => "is not known to the configuration",
                _ => {
                    "is no 32-bit instruction: code has to be of riscv32im, not of riscv32imc, \
                     without data in it"
                }
            };
            return Err(first.map_or_else(
                || SdkError::Executable("its code cannot be transpiled".into()),
                |index| unknown(index, extension_of(words[index]), reason(words[index])),
            ));
        }
        Ok(Err(other)) => return Err(refused(other)),
    };
    let slots = pieces.into_iter().flatten();
    let slots = slots.map(|slot| slot.map(|instruction| (instruction, None)));
    let mut all = Vec::with_capacity(words.len());
    all.extend(slots);
    Ok(Program {
        instructions_and_debug_infos: all,
        pc_base: start,
    })
}

/// Reason why a word is refused that OpenVM's transpiler takes for another one, or panics on.
fn refusal(word: u32, traps: Traps) -> Option<&'static str> {
    let (opcode, funct3, funct7) = (word & OPCODE, word >> 12 & 7, word >> 25);
    match (opcode, funct3) {
        (TERMINATE, 0) if word >> 20 > 255 => {
            Some("ends the guest with an exit code that is not from 0 to 255")
        }
        // OpenVM's executor panics on it.
        (JAL, _) if word & !RD == JAL_BY_MINUS_1_MIB => {
            Some("jumps back by 1 MiB exactly, which OpenVM's circuit does not do")
        }
        _ if traps == Traps::AsCargoOpenvm => None,
        (SHIFT_AND_OTHER_IMMEDIATES, 1) if funct7 != 0 => {
            Some("shifts by more bits than a register has, or is reserved: RV32I has no such instruction")
        }
        (SHIFT_AND_OTHER_IMMEDIATES, 5) if funct7 & 0x5f != 0 => {
            Some("shifts by more bits than a register has, or is reserved: RV32I has no such instruction")
        }
        (JALR, 1..) => Some("is reserved: RV32I has no such instruction"),
        _ => None,
    }
}

fn is_known(transpiler: &Transpiler<F>, word: u32) -> bool {
    catch_panic(|| transpiler.transpile(&[word]).is_ok()).unwrap_or(false)
}

/// The extension whose transpiler knows an instruction, by its name in `openvm.toml`.
fn extension_of(word: u32) -> Option<&'static str> {
    if word & OPCODE == SYSTEM {
        return Some("rv32i");
    }
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

/// Number of instructions of a program. OpenVM's function copies all of them.
pub(crate) fn defined_instructions(program: &Program<F>) -> usize {
    let slots = program.instructions_and_debug_infos.iter();
    slots.flatten().count()
}

/// Checks what OpenVM's interpreters assume: known opcodes, addresses inside the address spaces, a program that is not
/// empty and whose addresses fit a program counter.
fn check(config: &SdkVmConfig, exe: &VmExe<F>) -> Result<(), SdkError> {
    let bad = |reason: String| Err(SdkError::Executable(reason));
    let program = &exe.program;
    if program
        .instructions_and_debug_infos
        .iter()
        .all(Option::is_none)
    {
        return bad("it has no instructions".into());
    }
    let end = u64::from(program.pc_base) + program.len() as u64 * u64::from(DEFAULT_PC_STEP);
    if end > u64::from(MAX_ALLOWED_PC) + 1 {
        return bad(format!(
            "its code ends at {end:#x}, program counters end at {MAX_ALLOWED_PC:#x}"
        ));
    }
    if !program.pc_base.is_multiple_of(DEFAULT_PC_STEP) {
        return bad(format!(
            "its code begins at {:#x}, which is no multiple of 4",
            program.pc_base
        ));
    }
    if program.pc_base > MAX_BELOW_CODE {
        return bad(format!(
            "its code begins at {:#x}, at most {MAX_BELOW_CODE:#x} is supported, for the memory of the tables of OpenVM's interpreters \
             grows with the address: link the code below the data",
            program.pc_base
        ));
    }
    if exe.pc_start < program.pc_base || u64::from(exe.pc_start) >= end {
        return bad(format!(
            "it starts at {:#x}, outside its code from {:#x} to {end:#x}",
            exe.pc_start, program.pc_base
        ));
    }
    if !exe.pc_start.is_multiple_of(DEFAULT_PC_STEP) {
        return bad(format!(
            "it starts at {:#x}, which is no multiple of 4",
            exe.pc_start
        ));
    }

    let executors = catch_panic(|| VmExecutionConfig::<F>::create_executors(config))
        .map_err(|_| SdkError::Config("no virtual machine has such extensions".into()))?
        .map_err(|error| SdkError::machine(Stage::Execute, error, 0))?;
    let terminate = SystemOpcode::TERMINATE.global_opcode();
    let jal = Rv32JalLuiOpcode::JAL.global_opcode();
    for (index, slot) in program.instructions_and_debug_infos.iter().enumerate() {
        let Some((instruction, _)) = slot else {
            continue;
        };
        let opcode = instruction.opcode;
        let pc = u64::from(program.pc_base) + index as u64 * u64::from(DEFAULT_PC_STEP);
        let offset = instruction.c.as_canonical_u32();
        if opcode == jal && (JUMP_END..=F::ORDER_U32 - JUMP_END).contains(&offset) {
            return bad(format!(
                "the instruction at {pc:#x} jumps by 1 MiB or more, which OpenVM's circuit does not do"
            ));
        }
        if opcode != terminate && !executors.instruction_lookup.contains_key(&opcode) {
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
    let mut rest = exe.init_memory.range(..);
    while let Some((&(space, address), _)) = rest.next_back() {
        // The last byte in the space: none of the others is behind it.
        let size = spaces.get(space as usize).map_or(0, |space| space.size());
        if address as usize >= size {
            return bad(format!(
                "its initial memory has a byte at {address:#x} of address space {space}, which has {size} bytes"
            ));
        }
        rest = exe.init_memory.range(..(space, 0));
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
    // Large pieces: the hash copies their edges alone.
    let mut piece: Vec<u8> = Vec::with_capacity(1 << 16);
    let mut words = |words: &[u32]| {
        if piece.len() + 4 * words.len() > piece.capacity() {
            hash.update(&piece);
            piece.clear();
        }
        piece.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    };
    let program = &exe.program;
    words(&[exe.pc_start, program.pc_base, program.len() as u32]);
    for slot in &program.instructions_and_debug_infos {
        let Some((i, _)) = slot else {
            words(&[u32::MAX]);
            continue;
        };
        let [a, b, c, d, e, f, g] =
            [i.a, i.b, i.c, i.d, i.e, i.f, i.g].map(|operand| operand.as_canonical_u32());
        words(&[i.opcode.as_usize() as u32, a, b, c, d, e, f, g]);
    }
    // Words of memory that are not zero: memory without an entry is zero.
    let mut word = ((0, 0), 0);
    for (&(space, address), &byte) in exe.init_memory.iter().filter(|(_, &byte)| byte != 0) {
        let at = (space, address & !3);
        if at != word.0 {
            words(&[word.0 .0, word.0 .1, word.1]);
            word = (at, 0);
        }
        word.1 |= u32::from(byte) << (8 * (address & 3));
    }
    words(&[word.0 .0, word.0 .1, word.1]);
    hash.update(&piece);
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `addi x5, x5, n`.
    fn addi(n: u32) -> u32 {
        n << 20 | 5 << 15 | 5 << 7 | SHIFT_AND_OTHER_IMMEDIATES
    }

    /// A program that ends, with bytes in its initial memory.
    fn exe(memory: &[((u32, u32), u8)]) -> VmExe<F> {
        let program = transpile(&config(), &[addi(1), TERMINATE], 0x800, Traps::End);
        VmExe {
            program: program.expect("RISC-V"),
            pc_start: 0x800,
            init_memory: memory.iter().copied().collect(),
            fn_bounds: Default::default(),
        }
    }

    fn config() -> SdkVmConfig {
        SdkVmConfig::riscv32()
    }

    #[test]
    fn long_programs_are_transpiled_as_openvm_does() {
        let mut words: Vec<u32> = (0..2 * PIECE_WORDS as u32 + 7)
            .map(|n| addi(n & 0x7ff))
            .collect();
        let theirs = config().transpiler().transpile(&words).expect("RISC-V");
        let theirs = Program::new_without_debug_infos_with_option(&theirs, 0x800);
        let ours = transpile(&config(), &words, 0x800, Traps::End).expect("RISC-V");
        assert_eq!(ours.pc_base, theirs.pc_base);
        let [ours, theirs] = [ours, theirs].map(|program| {
            let slots = program.instructions_and_debug_infos.into_iter();
            let slots = slots.map(|slot| slot.map(|(instruction, _)| instruction));
            slots.collect::<Vec<_>>()
        });
        assert!(ours == theirs);
        // A word that is no instruction, in the second piece and in the third.
        for at in [PIECE_WORDS + 1, 2 * PIECE_WORDS + 3] {
            let word = std::mem::replace(&mut words[at], 0);
            match transpile(&config(), &words, 0x800, Traps::End) {
                Err(SdkError::UnknownInstruction { pc, word: 0, .. }) => {
                    assert_eq!(pc, 0x800 + 4 * at as u32);
                }
                other => panic!("{:?}", other.map(|_| ())),
            }
            words[at] = word;
        }
    }

    #[test]
    fn initial_memory_is_within_its_spaces() {
        let config = config();
        let spaces = &config.system.config.memory_config.addr_spaces;
        let [values, memory] = [3, 2].map(|space| spaces[space].size() as u32);
        let is_taken = |memory: &[((u32, u32), u8)]| check(&config, &exe(memory)).is_ok();
        assert!(is_taken(&[]));
        assert!(is_taken(&[
            ((2, 0), 1),
            ((2, memory - 1), 1),
            ((3, values - 1), 1)
        ]));
        for outside in [(2, memory), (3, values), (3, u32::MAX), (9, 0), (0, 0)] {
            assert!(!is_taken(&[(outside, 1)]), "{outside:?}");
            // Beside bytes that are inside, before it and behind it.
            let others = [((2, 5), 1), ((3, 0), 1), (outside, 1)];
            assert!(!is_taken(&others), "{outside:?}");
        }
    }

    /// Whatever a proof depends on changes the digest; zeros in memory do not.
    #[test]
    fn digests_are_of_contents() {
        let of = |memory: &[((u32, u32), u8)]| digest(&exe(memory));
        let memories: [&[((u32, u32), u8)]; 9] = [
            &[],
            &[((2, 0), 1)],
            &[((2, 1), 1)],
            &[((2, 4), 1)],
            &[((3, 0), 1)],
            &[((2, 0), 2)],
            &[((2, 0), 1), ((2, 1), 1)],
            &[((2, 0), 1), ((2, 4), 1)],
            &[((2, 0), 1), ((3, 0), 1)],
        ];
        let mut digests: Vec<_> = memories.into_iter().map(of).collect();
        let zeros = [((2, 0), 1), ((2, 2), 0), ((2, 400), 0)];
        assert_eq!(of(&zeros), digests[1]);
        let base = exe(&[]);
        let mut others = [base.clone(), base.clone(), base.clone(), base];
        others[0].pc_start += 4;
        others[1].program.pc_base -= 4;
        others[2].program.instructions_and_debug_infos[0] = None;
        let slots = &mut others[3].program.instructions_and_debug_infos;
        slots[0].as_mut().expect("an instruction").0.g = F::ONE;
        digests.extend(others.iter().map(digest));
        let count = digests.len();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), count);
    }
}
