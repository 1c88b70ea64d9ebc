//! Rules of OpenVM's circuits for the operands of an instruction, which its interpreters do not check.

use std::ops::Range;

use num_bigint::BigUint;
use openvm_circuit::{
    arch::{
        instructions::{
            instruction::Instruction,
            riscv::{RV32_MEMORY_AS, RV32_REGISTER_AS},
            LocalOpcode, SystemOpcode,
        },
        MemoryConfig,
    },
    system::memory::online::{GuestMemory, LinearMemory},
};
use openvm_rv32im_transpiler::{
    BranchEqualOpcode, BranchLessThanOpcode, Rv32HintStoreOpcode, Rv32JalLuiOpcode, Rv32JalrOpcode,
    Rv32LoadStoreOpcode, MAX_HINT_BUFFER_WORDS,
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::p3_field::PrimeField32;

use crate::{
    fault::{Access, Fault},
    prelude::F,
};

/// Address space of the public values.
const PUBLIC_VALUES: u32 = 3;

/// First opcodes of the extensions of OpenVM 2, whose crates are not dependencies here.
const KECCAKF: usize = 0x310;
const XORIN: usize = 0x311;
const SHA256: usize = 0x320;
const SHA512: usize = 0x321;
const INT256: Range<usize> = 0x400..0x420;
const BRANCH_INT256: Range<usize> = 0x420..0x430;
const MUL_INT256: usize = 0x450;
const MODULAR: Range<usize> = 0x500..0x600;
const ECC: Range<usize> = 0x600..0x700;
const FP2: Range<usize> = 0x710..0x800;
const DEFERRAL_CALL: usize = 0x800;
const DEFERRAL_OUTPUT: usize = 0x801;

/// Opcodes of each modulus, curve and extension field.
const MODULAR_KINDS: usize = 8;
const ECC_KINDS: usize = 4;
const FP2_KINDS: usize = 6;

/// Comparison in the opcodes of a modulus. The one after it sets it up.
const IS_EQ: usize = 6;

/// Phantom instructions from here on are those of the algebra and pairing extensions.
const ALGEBRA_PHANTOMS: u32 = 0x30;

/// Most bytes of an XOR into the state of Keccak.
const XORIN_BYTES: u32 = 136;

/// Bytes of a commitment, and of one with the length of what it is to, as deferrals have them in memory.
const COMMITMENT: u32 = 32;
const OUTPUT_KEY: u32 = COMMITMENT + 8;

/// Bytes of a block of memory: all but loads and stores access whole ones.
const BLOCK: u32 = 4;

/// Check of an instruction before it is executed.
pub(super) enum Check {
    /// Nothing: no operand makes it fail.
    Nothing,
    /// Address of a load or store.
    Memory { access: Access, bytes: u32 },
    /// Place among the public values.
    Reveal { bytes: u32 },
    /// Target of a jump to an address in a register.
    Jalr,
    /// Branch or jump that may have a target that cannot be executed, so many bytes away.
    Jump { offset: i32, always: bool },
    /// Branch by numbers of 256 bits in memory, whose target cannot be executed, so many bytes away.
    Branch256 { offset: i32 },
    /// Pointers in registers, by the number of a rule.
    Operands(usize),
}

/// Memory that an operand points at.
#[derive(Clone, Copy)]
pub(super) struct Pointer {
    /// Operand: 0 is `a`, 1 is `b`, 2 is `c`.
    operand: usize,
    access: Access,
    bytes: u32,
}

/// Rule for the registers that an instruction names.
pub(super) enum Rule {
    /// Whole operands in memory; with a modulus, those that are read are below it.
    Pointers(Vec<Pointer>, Option<BigUint>),
    /// Words of the hint stream: operand `b` points at their place; `a` counts them, unless it is one.
    Hint { counted: bool },
    /// Bytes at `b`, as many as `c` says, into those at `a`.
    Xorin,
    /// Bytes to `a`, as many as the length at `b` says, which follows a commitment.
    Output,
    /// Nothing is known: a panic of the executor tells.
    Executor,
}

/// Rules of a configuration for a program.
pub(super) struct Rules {
    /// Bytes of memory.
    pub memory: u32,
    /// Bytes of the public values.
    pub public_values: u32,
    /// Addresses of instructions.
    pub code: Range<u32>,
    rules: Vec<Rule>,
    /// Numbers of the rules of each modulus (results in memory, results in a register), curve, extension field.
    modular: Vec<[usize; 3]>,
    ecc: Vec<[usize; 2]>,
    fp2: Vec<usize>,
    fixed: Vec<(usize, usize)>,
    int256: [usize; 2],
    executor: usize,
}

/// Bytes of memory that loads and stores may access: a multiple of 4, at most `2^31`.
pub(crate) fn memory_bytes(spaces: &MemoryConfig) -> u32 {
    bytes_of(spaces, RV32_MEMORY_AS)
}

fn bytes_of(spaces: &MemoryConfig, space: u32) -> u32 {
    let size = spaces.addr_spaces.get(space as usize);
    let size = size.map_or(0, |space| space.size() as u64);
    // Words are whole.
    size.min(1 << spaces.pointer_max_bits).min(1 << 31) as u32 & !3
}

impl Rules {
    pub fn new(config: &SdkVmConfig, code: Range<u32>) -> Self {
        let spaces = &config.system.config.memory_config;
        let mut rules = Self {
            memory: memory_bytes(spaces),
            public_values: bytes_of(spaces, PUBLIC_VALUES),
            code,
            rules: vec![Rule::Executor],
            modular: vec![],
            ecc: vec![],
            fp2: vec![],
            fixed: vec![],
            int256: [0; 2],
            executor: 0,
        };
        for (opcode, rule) in [
            (
                Rv32HintStoreOpcode::HINT_STOREW.global_opcode().as_usize(),
                Rule::Hint { counted: false },
            ),
            (
                Rv32HintStoreOpcode::HINT_BUFFER.global_opcode().as_usize(),
                Rule::Hint { counted: true },
            ),
            (KECCAKF, pointers(&[(0, Access::Writes, 200)])),
            (XORIN, Rule::Xorin),
            (SHA256, sha2(32, 64)),
            (SHA512, sha2(64, 128)),
            (
                DEFERRAL_CALL,
                pointers(&[
                    (1, Access::Reads, COMMITMENT),
                    (0, Access::Writes, OUTPUT_KEY),
                ]),
            ),
            (DEFERRAL_OUTPUT, Rule::Output),
        ] {
            let number = rules.add(rule);
            rules.fixed.push((opcode, number));
        }
        rules.int256 = [
            rules.add(arithmetic(32)),
            rules.add(pointers(&[(0, Access::Reads, 32), (1, Access::Reads, 32)])),
        ];
        for modulus in config.modular.iter().flat_map(|x| &x.supported_moduli) {
            let bytes = element(modulus);
            let operands = [(1, Access::Reads, bytes), (2, Access::Reads, bytes)];
            let numbers = [
                rules.add(arithmetic(bytes)),
                rules.add(compared(&operands, modulus)),
                // The set-up reads the modulus itself, which is compared with nothing.
                rules.add(pointers(&operands)),
            ];
            rules.modular.push(numbers);
        }
        for (_, modulus) in config.fp2.iter().flat_map(|x| &x.supported_moduli) {
            let number = rules.add(arithmetic(2 * element(modulus)));
            rules.fp2.push(number);
        }
        for curve in config.ecc.iter().flat_map(|x| &x.supported_curves) {
            let bytes = 2 * element(&curve.modulus);
            let double = [(0, Access::Writes, bytes), (1, Access::Reads, bytes)];
            let numbers = [rules.add(arithmetic(bytes)), rules.add(pointers(&double))];
            rules.ecc.push(numbers);
        }
        rules
    }

    fn add(&mut self, rule: Rule) -> usize {
        self.rules.push(rule);
        self.rules.len() - 1
    }

    /// The rule with a number of [`Check::Operands`].
    pub fn rule(&self, number: usize) -> &Rule {
        &self.rules[number]
    }

    /// The rule for the numbers of [`Check::Branch256`].
    pub fn branch256(&self) -> &Rule {
        self.rule(self.int256[1])
    }

    /// Check of an instruction at `pc`.
    pub fn check(&self, pc: u32, instruction: &Instruction<F>) -> Check {
        use Rv32LoadStoreOpcode::{LOADB, LOADBU, LOADH, LOADHU, LOADW, STOREB, STOREH, STOREW};
        let opcode = instruction.opcode;
        let is = |other: Rv32LoadStoreOpcode| opcode == other.global_opcode();
        let number = opcode.as_usize();
        if number == SystemOpcode::PHANTOM.global_opcode().as_usize() {
            return match instruction.c.as_canonical_u32() & 0xffff {
                ALGEBRA_PHANTOMS.. => Check::Operands(self.executor),
                _ => Check::Nothing,
            };
        }
        for (opcodes, access, bytes) in [
            ([LOADW, LOADW], Access::Reads, 4),
            ([LOADH, LOADHU], Access::Reads, 2),
            ([LOADB, LOADBU], Access::Reads, 1),
            ([STOREW, STOREW], Access::Writes, 4),
            ([STOREH, STOREH], Access::Writes, 2),
            ([STOREB, STOREB], Access::Writes, 1),
        ] {
            if opcodes.into_iter().any(is) {
                return match instruction.e.as_canonical_u32() {
                    PUBLIC_VALUES => Check::Reveal { bytes },
                    _ => Check::Memory { access, bytes },
                };
            }
        }
        if opcode == Rv32JalrOpcode::JALR.global_opcode() {
            return Check::Jalr;
        }
        let jal = Rv32JalLuiOpcode::JAL.global_opcode();
        let equal = BranchEqualOpcode::BEQ.global_opcode().as_usize();
        let less = BranchLessThanOpcode::BLT.global_opcode().as_usize();
        let branch = (equal..equal + 2).contains(&number) || (less..less + 4).contains(&number);
        let offset = signed(instruction.c);
        let is_bad = !self.is_code(pc.wrapping_add_signed(offset));
        // A branch to the next instruction goes there in any case: after the last one, the program has run past its end.
        let is_bad_branch = is_bad && offset != 4;
        if opcode == jal && is_bad || branch && is_bad_branch {
            let always = opcode == jal;
            return Check::Jump { offset, always };
        }
        if BRANCH_INT256.contains(&number) && is_bad_branch {
            return Check::Branch256 { offset };
        }
        let of = |start: usize, kinds: usize| ((number - start) / kinds, (number - start) % kinds);
        let rule = if MODULAR.contains(&number) {
            let (modulus, kind) = of(MODULAR.start, MODULAR_KINDS);
            let rules = self.modular.get(modulus);
            rules.map(|rules| rules[kind.saturating_sub(IS_EQ - 1).min(2)])
        } else if ECC.contains(&number) {
            let (curve, kind) = of(ECC.start, ECC_KINDS);
            self.ecc.get(curve).map(|rules| rules[kind / 2])
        } else if FP2.contains(&number) {
            let (field, _) = of(FP2.start, FP2_KINDS);
            self.fp2.get(field).copied()
        } else if INT256.contains(&number) || number == MUL_INT256 {
            Some(self.int256[0])
        } else if BRANCH_INT256.contains(&number) {
            Some(self.int256[1])
        } else {
            let fixed = self.fixed.iter().find(|(opcode, _)| *opcode == number);
            return fixed.map_or(Check::Nothing, |&(_, rule)| Check::Operands(rule));
        };
        // An opcode of a modulus that the configuration lacks has no executor either.
        Check::Operands(rule.unwrap_or(self.executor))
    }

    /// True for the number of the rule of calls of deferral circuits.
    pub fn is_deferral_call(&self, rule: usize) -> bool {
        self.fixed.contains(&(DEFERRAL_CALL, rule))
    }

    fn is_code(&self, address: u32) -> bool {
        address.is_multiple_of(4) && self.code.contains(&address)
    }

    /// Checks the registers whose addresses operands `a`, `b` and `c` are, as far as the rule is about them.
    ///
    /// # Errors
    /// The first fault.
    pub fn operands(
        &self,
        rule: &Rule,
        operands: [u8; 3],
        memory: &GuestMemory,
    ) -> Result<(), Fault> {
        let value = |operand: usize| register(memory, operands[operand]);
        match rule {
            Rule::Executor => Ok(()),
            Rule::Pointers(pointers, modulus) => {
                for pointer in pointers {
                    let address = value(pointer.operand);
                    self.block(pointer.access, address, pointer.bytes)?;
                    let Some(modulus) = modulus else { continue };
                    let (start, bytes) = (address as usize, pointer.bytes as usize);
                    let memory = memory.memory.mem[RV32_MEMORY_AS as usize].as_slice();
                    if BigUint::from_bytes_le(&memory[start..start + bytes]) >= *modulus {
                        return Err(Fault::NotReduced { address });
                    }
                }
                Ok(())
            }
            Rule::Hint { counted } => {
                let words = if *counted { value(0) } else { 1 };
                // OpenVM's executor names numbers that it does not take.
                match words as usize {
                    1..=MAX_HINT_BUFFER_WORDS => {
                        self.block(Access::Writes, value(1), words * BLOCK)
                    }
                    _ => Ok(()),
                }
            }
            Rule::Xorin => {
                let [buffer, input, bytes] = [0, 1, 2].map(value);
                if bytes > XORIN_BYTES || !bytes.is_multiple_of(BLOCK) {
                    let most = XORIN_BYTES;
                    return Err(Fault::Length { bytes, most });
                }
                self.block(Access::Writes, buffer, bytes)?;
                self.block(Access::Reads, input, bytes)
            }
            Rule::Output => {
                let [output, key] = [0, 1].map(value);
                self.block(Access::Reads, key, OUTPUT_KEY)?;
                let memory = memory.memory.mem[RV32_MEMORY_AS as usize].as_slice();
                let mut length = [0; 8];
                length.copy_from_slice(&memory[(key + COMMITMENT) as usize..][..8]);
                // No memory has as many bytes as 32 bits count.
                let bytes = u64::from_le_bytes(length).min(u32::MAX.into()) as u32;
                // A pointer to no bytes may be to the middle of a block.
                let output = if bytes == 0 {
                    output & !(BLOCK - 1)
                } else {
                    output
                };
                self.block(Access::Writes, output, bytes)
            }
        }
    }

    fn block(&self, access: Access, address: u32, bytes: u32) -> Result<(), Fault> {
        if !address.is_multiple_of(BLOCK) {
            let align = BLOCK;
            return Err(Fault::Misaligned {
                access,
                address,
                bytes,
                align,
            });
        }
        match u64::from(address) + u64::from(bytes.max(1)) <= u64::from(self.memory) {
            true => Ok(()),
            false => Err(Fault::OutsideMemory {
                access,
                address,
                bytes,
                size: self.memory,
            }),
        }
    }
}

/// The offset of a branch or jump, which is an operand that may be negative.
fn signed(offset: F) -> i32 {
    let offset = offset.as_canonical_u32();
    match offset > F::ORDER_U32 / 2 {
        true => -((F::ORDER_U32 - offset) as i32),
        false => offset as i32,
    }
}

/// Bytes of an element of a prime field in memory.
fn element(modulus: &BigUint) -> u32 {
    match modulus.bits() {
        0..=256 => 32,
        _ => 48,
    }
}

fn pointers(list: &[(usize, Access, u32)]) -> Rule {
    let list = list.iter().map(|&(operand, access, bytes)| Pointer {
        operand,
        access,
        bytes,
    });
    Rule::Pointers(list.collect(), None)
}

fn compared(list: &[(usize, Access, u32)], modulus: &BigUint) -> Rule {
    match pointers(list) {
        Rule::Pointers(list, _) => Rule::Pointers(list, Some(modulus.clone())),
        other => other,
    }
}

/// Two numbers that are read, and one that is written.
fn arithmetic(bytes: u32) -> Rule {
    pointers(&[
        (1, Access::Reads, bytes),
        (2, Access::Reads, bytes),
        (0, Access::Writes, bytes),
    ])
}

fn sha2(state: u32, block: u32) -> Rule {
    pointers(&[
        (1, Access::Reads, state),
        (2, Access::Reads, block),
        (0, Access::Writes, state),
    ])
}

/// The register at an address of the registers' space.
fn register(memory: &GuestMemory, address: u8) -> u32 {
    let registers = memory.memory.mem[RV32_REGISTER_AS as usize].as_slice();
    let mut word = [0; 4];
    let start = usize::from(address);
    word.copy_from_slice(&registers[start..start + 4]);
    u32::from_le_bytes(word)
}
