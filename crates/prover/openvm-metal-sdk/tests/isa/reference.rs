//! Reference executor: RV32IM with OpenVM's system instructions, on the words of an executable.
//!
//! It is written for reading, and shares nothing with OpenVM's transpiler and executors.

use std::collections::{HashMap, VecDeque};

/// Bytes of the guest's memory.
pub const MEMORY: u32 = 1 << 29;

/// Most words of one `hint_buffer`.
const MAX_HINT_WORDS: u32 = 1023;

/// Most words of one `hint_random`.
const MAX_RANDOM_WORDS: u32 = 1 << 24;

/// The offset of `jal` that OpenVM lacks: 1 MiB back.
const LEAST_JUMP: u32 = 0xfff0_0000;

/// Exit code of a trap.
const TRAP: u32 = 2;

/// Bytes of a page of the memory.
const PAGE: usize = 4096;

/// Code and initial memory.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// Address of the first word of the code, and of the first instruction.
    pub text: u32,
    pub code: Vec<u32>,
    /// Addresses and values of further words.
    pub data: Vec<(u32, u32)>,
}

/// End of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The guest exits with this code, or comes to an instruction for system calls or registers of the system, which exits with 2.
    Exit { pc: u32, code: u32 },
    /// The code has a word that is no instruction, or exits with a code above 255: the first one.
    Refused { pc: u32, word: u32 },
    /// A load, store or hint at an address that is not a multiple of its size, or outside the memory.
    Memory { pc: u32, address: u32 },
    /// A reveal at a byte that is not a multiple of 4, or behind the public values.
    Reveal { pc: u32, address: u32 },
    /// A jump to an address that is not a multiple of 4, or at which no instruction is.
    Jump { pc: u32, address: u32 },
    /// The code ends before `pc` without an exit.
    NoInstruction { pc: u32 },
    /// A read past the input.
    Input { pc: u32 },
    /// A hint of no words, or of too many.
    HintCount { pc: u32, count: u32 },
    /// The guest does not end within the bound.
    Bound,
}

/// Outcome of an execution.
#[derive(Clone, Debug)]
pub struct Outcome {
    pub end: End,
    /// Instructions that were executed, with the one that ends it.
    pub instructions: u64,
    pub public_values: Vec<u8>,
    /// Registers before the instruction that ends it.
    pub registers: [u32; 32],
}

/// Words of memory, zero where nothing was written.
#[derive(Default)]
struct Memory(HashMap<u32, Box<[u8; PAGE]>>);

impl Memory {
    fn byte(&self, address: u32) -> u8 {
        let page = self.0.get(&(address / PAGE as u32));
        page.map_or(0, |page| page[address as usize % PAGE])
    }

    fn set_byte(&mut self, address: u32, value: u8) {
        let page = self.0.entry(address / PAGE as u32);
        page.or_insert_with(|| Box::new([0; PAGE]))[address as usize % PAGE] = value;
    }

    /// Little-endian number of `bytes` bytes.
    fn load(&self, address: u32, bytes: u32) -> u32 {
        (0..bytes).fold(0, |value, i| {
            value | u32::from(self.byte(address + i)) << (8 * i)
        })
    }

    fn store(&mut self, address: u32, bytes: u32, value: u32) {
        for i in 0..bytes {
            self.set_byte(address + i, (value >> (8 * i)) as u8);
        }
    }
}

struct Machine<'a> {
    image: &'a Image,
    pc: u32,
    x: [u32; 32],
    memory: Memory,
    public_values: Vec<u8>,
    inputs: VecDeque<Vec<u8>>,
    hint: VecDeque<u8>,
}

/// Fields of an instruction.
struct Fields {
    opcode: u32,
    rd: usize,
    funct3: u32,
    rs1: usize,
    rs2: usize,
    funct7: u32,
    /// Immediates of each form, with their signs.
    i: u32,
    s: u32,
    b: u32,
    u: u32,
    j: u32,
}

impl Fields {
    fn of(word: u32) -> Self {
        let bits = |from: u32, count: u32| word >> from & ((1 << count) - 1);
        let sign = ((word as i32) >> 31) as u32;
        Self {
            opcode: bits(0, 7),
            rd: bits(7, 5) as usize,
            funct3: bits(12, 3),
            rs1: bits(15, 5) as usize,
            rs2: bits(20, 5) as usize,
            funct7: bits(25, 7),
            i: sign << 11 | bits(20, 11),
            s: sign << 11 | bits(25, 6) << 5 | bits(7, 5),
            b: sign << 12 | bits(7, 1) << 11 | bits(25, 6) << 5 | bits(8, 4) << 1,
            u: word & 0xffff_f000,
            j: sign << 20 | bits(12, 8) << 12 | bits(20, 1) << 11 | bits(21, 10) << 1,
        }
    }
}

const LOAD: u32 = 0x03;
const CUSTOM: u32 = 0x0b;
const FENCE: u32 = 0x0f;
const OP_IMM: u32 = 0x13;
const AUIPC: u32 = 0x17;
const STORE: u32 = 0x23;
const OP: u32 = 0x33;
const LUI: u32 = 0x37;
const BRANCH: u32 = 0x63;
const JALR: u32 = 0x67;
const JAL: u32 = 0x6f;
const SYSTEM: u32 = 0x73;

/// True for the words that are instructions.
fn is_known(word: u32) -> bool {
    let f = Fields::of(word);
    match f.opcode {
        LOAD => matches!(f.funct3, 0..=2 | 4 | 5),
        CUSTOM => match f.funct3 {
            0 => f.i <= 255,
            1 => f.i <= 1,
            2 => true,
            3 => f.i <= 2,
            _ => false,
        },
        FENCE => f.funct3 == 0,
        OP_IMM => match f.funct3 {
            1 => f.funct7 == 0,
            5 => matches!(f.funct7, 0 | 0x20),
            _ => true,
        },
        STORE => f.funct3 <= 2,
        OP => match f.funct7 {
            0 | 1 => true,
            0x20 => matches!(f.funct3, 0 | 5),
            _ => false,
        },
        BRANCH => !matches!(f.funct3, 2 | 3),
        JALR => f.funct3 == 0,
        // OpenVM has no jump by the least offset.
        JAL => f.j != LEAST_JUMP,
        AUIPC | LUI | SYSTEM => true,
        _ => false,
    }
}

/// Runs an executable for at most `bound` instructions.
pub fn run(image: &Image, inputs: &[Vec<u8>], public_values: usize, bound: u64) -> Outcome {
    let mut machine = Machine {
        image,
        pc: image.text,
        x: [0; 32],
        memory: Memory::default(),
        public_values: vec![0; public_values],
        inputs: inputs.iter().cloned().collect(),
        hint: VecDeque::new(),
    };
    let mut instructions = 0;
    let end = match image.code.iter().position(|&word| !is_known(word)) {
        Some(index) => End::Refused {
            pc: image.text + 4 * index as u32,
            word: image.code[index],
        },
        None => {
            machine.load_image();
            loop {
                if instructions == bound {
                    break End::Bound;
                }
                instructions += 1;
                if let Err(end) = machine.step() {
                    break end;
                }
            }
        }
    };
    Outcome {
        end,
        instructions,
        public_values: machine.public_values,
        registers: machine.x,
    }
}

impl Machine<'_> {
    fn load_image(&mut self) {
        for (index, &word) in self.image.code.iter().enumerate() {
            self.memory
                .store(self.image.text + 4 * index as u32, 4, word);
        }
        for &(address, word) in &self.image.data {
            self.memory.store(address, 4, word);
        }
    }

    /// The word of the code at an address.
    fn fetch(&self, address: u32) -> Option<u32> {
        if !address.is_multiple_of(4) {
            return None;
        }
        let offset = address.checked_sub(self.image.text)?;
        self.image.code.get(offset as usize / 4).copied()
    }

    fn set(&mut self, rd: usize, value: u32) {
        if rd != 0 {
            self.x[rd] = value;
        }
    }

    /// Executes one instruction. `Err` ends the execution.
    fn step(&mut self) -> Result<(), End> {
        let pc = self.pc;
        let word = self.fetch(pc).expect("jumps and steps are checked");
        let f = Fields::of(word);
        let (a, b) = (self.x[f.rs1], self.x[f.rs2]);
        // The target of a jump, and the register of its return address.
        let mut jump = None;
        match f.opcode {
            LUI => self.set(f.rd, f.u),
            AUIPC => self.set(f.rd, pc.wrapping_add(f.u)),
            OP_IMM if f.funct3 == 5 => self.set(f.rd, arithmetic(f.funct7, 5, a, f.i & 31)),
            OP_IMM => self.set(f.rd, arithmetic(0, f.funct3, a, f.i)),
            OP if f.funct7 == 1 => self.set(f.rd, multiplication(f.funct3, a, b)),
            OP => self.set(f.rd, arithmetic(f.funct7, f.funct3, a, b)),
            LOAD => {
                let bytes = 1 << (f.funct3 & 3);
                let address = self.address(a.wrapping_add(f.i), bytes)?;
                let value = self.memory.load(address, bytes);
                self.set(
                    f.rd,
                    match f.funct3 {
                        0 => value as u8 as i8 as u32,
                        1 => value as u16 as i16 as u32,
                        _ => value,
                    },
                );
            }
            STORE => {
                let bytes = 1 << f.funct3;
                let address = self.address(a.wrapping_add(f.s), bytes)?;
                self.memory.store(address, bytes, b);
            }
            // A branch by 4 leads to the next instruction in any case, and is no jump.
            BRANCH if f.b != 4 && is_taken(f.funct3, a, b) => {
                jump = Some((pc.wrapping_add(f.b), 0))
            }
            BRANCH | FENCE => {}
            JAL => jump = Some((pc.wrapping_add(f.j), f.rd)),
            JALR => jump = Some((a.wrapping_add(f.i) & !1, f.rd)),
            SYSTEM => return Err(End::Exit { pc, code: TRAP }),
            _ => self.custom(&f)?,
        }
        let next = pc + 4;
        self.pc = match jump {
            Some((address, _)) if self.fetch(address).is_none() => {
                return Err(End::Jump { pc, address })
            }
            Some((address, link)) => {
                self.set(link, next);
                address
            }
            None if self.fetch(next).is_none() => return Err(End::NoInstruction { pc: next }),
            None => next,
        };
        Ok(())
    }

    /// An address of `bytes` bytes in the memory.
    fn address(&self, address: u32, bytes: u32) -> Result<u32, End> {
        if !address.is_multiple_of(bytes) || address >= MEMORY {
            return Err(End::Memory {
                pc: self.pc,
                address,
            });
        }
        Ok(address)
    }

    /// OpenVM's own instructions.
    fn custom(&mut self, f: &Fields) -> Result<(), End> {
        let pc = self.pc;
        match (f.funct3, f.i) {
            (0, code) => return Err(End::Exit { pc, code }),
            (1, 0) => self.take_hint(self.x[f.rd], 1)?,
            (1, _) => self.take_hint(self.x[f.rd], self.x[f.rs1])?,
            (2, offset) => {
                let address = self.x[f.rd].wrapping_add(offset);
                let end = u64::from(address) + 4;
                if !address.is_multiple_of(4) || end > self.public_values.len() as u64 {
                    return Err(End::Reveal { pc, address });
                }
                let at = address as usize;
                self.public_values[at..at + 4].copy_from_slice(&self.x[f.rs1].to_le_bytes());
            }
            (3, 0) => {
                let input = self.inputs.pop_front().ok_or(End::Input { pc })?;
                self.hint.clear();
                self.hint.extend((input.len() as u32).to_le_bytes());
                self.hint.extend(&input);
                self.hint.resize(self.hint.len().next_multiple_of(4), 0);
            }
            (3, 1) => {
                let (from, count) = (self.x[f.rd], self.x[f.rs1]);
                if count > 0 && u64::from(from) + u64::from(count) > u64::from(MEMORY) {
                    return Err(End::Memory { pc, address: from });
                }
            }
            (3, 2) => {
                let count = self.x[f.rd];
                if count > MAX_RANDOM_WORDS {
                    return Err(End::HintCount { pc, count });
                }
                // Programs overwrite what they take of these words, which another random number generator makes.
                self.hint = vec![0; 4 * count as usize].into();
            }
            other => unreachable!("no program has the instruction {other:?}"),
        }
        Ok(())
    }

    fn take_hint(&mut self, address: u32, count: u32) -> Result<(), End> {
        let pc = self.pc;
        if !(1..=MAX_HINT_WORDS).contains(&count) {
            return Err(End::HintCount { pc, count });
        }
        self.address(address, 4)?;
        if u64::from(address) + 4 * u64::from(count) > u64::from(MEMORY) {
            return Err(End::Memory { pc, address });
        }
        if self.hint.len() < 4 * count as usize {
            return Err(End::Input { pc });
        }
        for (i, byte) in self.hint.drain(..4 * count as usize).enumerate() {
            self.memory.set_byte(address + i as u32, byte);
        }
        Ok(())
    }
}

fn is_taken(funct3: u32, a: u32, b: u32) -> bool {
    match funct3 {
        0 => a == b,
        1 => a != b,
        4 => (a as i32) < b as i32,
        5 => (a as i32) >= b as i32,
        6 => a < b,
        _ => a >= b,
    }
}

/// RV32I's operations on two words.
fn arithmetic(funct7: u32, funct3: u32, a: u32, b: u32) -> u32 {
    let is_alternative = funct7 == 0x20;
    match funct3 {
        0 if is_alternative => a.wrapping_sub(b),
        0 => a.wrapping_add(b),
        1 => a << (b & 31),
        2 => u32::from((a as i32) < b as i32),
        3 => u32::from(a < b),
        4 => a ^ b,
        5 if is_alternative => ((a as i32) >> (b & 31)) as u32,
        5 => a >> (b & 31),
        6 => a | b,
        _ => a & b,
    }
}

/// The M extension's operations.
fn multiplication(funct3: u32, a: u32, b: u32) -> u32 {
    let (signed_a, signed_b) = (i64::from(a as i32), i64::from(b as i32));
    let (wide_a, wide_b) = (i64::from(a), i64::from(b));
    let high = |product: i64| (product >> 32) as u32;
    match funct3 {
        0 => a.wrapping_mul(b),
        1 => high(signed_a * signed_b),
        2 => high(signed_a * wide_b),
        3 => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        4 if b == 0 => u32::MAX,
        4 => (signed_a / signed_b) as u32,
        5 if b == 0 => u32::MAX,
        5 => (wide_a / wide_b) as u32,
        6 if b == 0 => a,
        6 => (signed_a % signed_b) as u32,
        _ if b == 0 => a,
        _ => (wide_a % wide_b) as u32,
    }
}
