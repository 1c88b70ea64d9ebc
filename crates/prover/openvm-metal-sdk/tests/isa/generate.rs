//! Random programs: every instruction with operands at edges, loops, calls, and in about half of the programs one thing that
//! ends them with an error.

use rand::{rngs::StdRng, seq::IndexedRandom as _, Rng as _, SeedableRng as _};

use crate::{
    reference::{Image, MEMORY},
    riscv::{
        add, addi, auipc, b_type, bne, hint_buffer, hint_input, hint_word, i_type, jal, jalr, lui,
        lw, print, r_type, reveal, reveal_at, s_type, sw, terminate, CUSTOM, TEXT,
    },
};

/// Bytes that a program makes public: registers in the first half, what it reveals itself in the second.
pub const PUBLIC_VALUES: usize = 256;

/// Words that programs load, store and reveal a digest of.
const DATA: u32 = 0x400;
const DATA_WORDS: u32 = 64;

/// Registers of loop counters, outer loop first, which nothing else writes.
const COUNTERS: [u32; 2] = [28, 29];
/// Register of return addresses.
const LINK: u32 = 27;
/// Registers of addresses, written before each use.
const POINTER: u32 = 30;
const COUNT: u32 = 31;

/// Operands at which carries, signs and shifts change.
const EDGES: [u32; 16] = [
    0,
    1,
    2,
    3,
    31,
    32,
    33,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
];

/// A program with its input.
#[derive(Clone, Debug)]
pub struct Program {
    pub image: Image,
    pub inputs: Vec<Vec<u8>>,
}

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut rng = StdRng::seed_from_u64(seed);
    let is_soup = rng.random_ratio(1, 5);
    let fails = rng.random_ratio(1, 2);
    let blocks = rng.random_range(1..25);
    let mut writer = Writer::new(rng);
    writer.set_registers();
    if is_soup {
        writer.soup();
    } else {
        let fault = fails.then(|| writer.rng.random_range(0..blocks));
        for index in 0..blocks {
            if fault == Some(index) {
                writer.fault();
            } else {
                writer.block(0);
            }
        }
    }
    writer.finish()
}

/// A program of about `blocks` constructs that ends with exit code 0.
pub fn long_program(seed: u64, blocks: usize) -> Program {
    let mut writer = Writer::new(StdRng::seed_from_u64(seed));
    writer.set_registers();
    (0..blocks).for_each(|_| writer.block(0));
    writer.finish()
}

struct Writer {
    rng: StdRng,
    text: u32,
    code: Vec<u32>,
    data: Vec<(u32, u32)>,
    inputs: Vec<Vec<u8>>,
    /// Inputs that the code takes.
    taken: usize,
    /// The code ends without an exit.
    is_cut: bool,
}

impl Writer {
    fn new(mut rng: StdRng) -> Self {
        // Tables of interpreters grow with the address, so most programs lie low.
        let text = *[0x1000, 0x1000, 0x1004, 0x2ffc, TEXT]
            .choose_weighted(&mut rng, |&text| if text == TEXT { 1 } else { 10 })
            .expect("addresses");
        let inputs = (0..rng.random_range(0..4)).map(|_| {
            let bytes = rng.random_range(0..20);
            (0..bytes).map(|_| rng.random()).collect()
        });
        let inputs = inputs.collect();
        let words = 0..DATA_WORDS;
        let data = words.map(|i| (DATA + 4 * i, rng.random())).collect();
        Self {
            rng,
            text,
            code: vec![],
            data,
            inputs,
            taken: 0,
            is_cut: false,
        }
    }

    fn emit(&mut self, word: u32) {
        self.code.push(word);
    }

    fn below(&mut self, end: u32) -> u32 {
        self.rng.random_range(0..end)
    }

    /// A register that arithmetic may write.
    fn target(&mut self) -> u32 {
        self.below(LINK)
    }

    fn source(&mut self) -> u32 {
        self.below(32)
    }

    fn value(&mut self) -> u32 {
        let edge = *EDGES.choose(&mut self.rng).expect("edges");
        match self.below(4) {
            0 => self.rng.random(),
            1 => edge.wrapping_neg(),
            _ => edge,
        }
    }

    /// A 12-bit immediate.
    fn immediate(&mut self) -> i32 {
        match self.below(4) {
            0 => *[-2048, -1, 0, 1, 2047]
                .choose(&mut self.rng)
                .expect("edges"),
            _ => self.rng.random_range(-2048..2048),
        }
    }

    /// Writes a number to a register.
    fn load_number(&mut self, rd: u32, value: u32) {
        let low = (value << 20) as i32 >> 20;
        self.emit(lui(rd, value.wrapping_sub(low as u32) >> 12));
        self.emit(addi(rd, rd, low));
    }

    fn set_registers(&mut self) {
        for rd in 1..32 {
            let value = self.value();
            self.load_number(rd, value);
        }
    }

    /// One construct that does not fail, inside of `depth` loops.
    fn block(&mut self, depth: usize) {
        match self.below(if depth == 0 { 24 } else { 16 }) {
            0..6 => self.arithmetic(),
            6..11 => self.access(),
            11 => self.constant(),
            12 => self.harmless(),
            13 => {
                let address = 128 + 4 * self.below(32);
                self.reveal_to(address);
            }
            14 | 15 => self.skip(depth),
            16 | 17 => self.repeat(depth),
            18 => self.call(),
            19 => self.hint(),
            20 => self.random_hint(),
            21 => self.skipped_fault(),
            _ => self.arithmetic(),
        }
    }

    fn arithmetic(&mut self) {
        let rd = self.target();
        let (rs1, rs2) = (self.source(), self.source());
        if self.rng.random_ratio(1, 4) {
            let value = self.value();
            let register = self.target();
            self.load_number(register, value);
        }
        let word = if self.rng.random() {
            // 18 operations: with the alternative form of add and shift right, and the M extension.
            let (funct7, funct3) = match self.below(18) {
                8 => (0x20, 0),
                9 => (0x20, 5),
                n @ 0..8 => (0, n),
                n => (1, n - 10),
            };
            r_type(funct7, funct3, rd, rs1, rs2)
        } else {
            let funct3 = self.below(8);
            let imm = match funct3 {
                1 => self.below(32) as i32,
                5 => (self.below(32) | self.below(2) << 10) as i32,
                _ => self.immediate(),
            };
            i_type(0x13, funct3, rd, rs1, imm)
        };
        self.emit(word);
    }

    fn constant(&mut self) {
        let (rd, upper) = (self.target(), self.rng.random_range(0..1 << 20));
        let word = if self.rng.random() {
            lui(rd, upper)
        } else {
            auipc(rd, upper)
        };
        self.emit(word);
    }

    /// Instructions without effect.
    fn harmless(&mut self) {
        let fences = [0x0ff0_000f, 0x8330_000f, 0x0000_000f];
        let word = match self.below(3) {
            0 => *fences.choose(&mut self.rng).expect("fences"),
            // Nothing is printed.
            1 => print(self.source(), 0),
            _ => r_type(1, 4, 0, self.source(), self.source()),
        };
        self.emit(word);
    }

    /// An aligned address of `bytes` bytes: among the data, in the code, at both ends of the memory.
    fn good_address(&mut self, bytes: u32) -> u32 {
        let data = DATA + bytes * self.below(4 * DATA_WORDS / bytes);
        match self.below(12) {
            0 => MEMORY - bytes * (1 + self.below(3)),
            1 => bytes * self.below(3),
            2 => self.text.next_multiple_of(4) + bytes * self.below(16),
            _ => data,
        }
    }

    /// A load or store of `bytes` bytes at an address, by a pointer and an immediate.
    fn access_to(&mut self, address: u32, bytes: u32) {
        let imm = self.immediate();
        self.load_number(POINTER, address.wrapping_sub(imm as u32));
        let width = bytes.trailing_zeros();
        let word = if self.rng.random() {
            s_type(width, POINTER, self.source(), imm)
        } else {
            // Loads of bytes and halfwords have two forms.
            let is_unsigned = width < 2 && self.rng.random();
            let rd = self.target();
            i_type(
                0x03,
                width | if is_unsigned { 4 } else { 0 },
                rd,
                POINTER,
                imm,
            )
        };
        self.emit(word);
    }

    fn access(&mut self) {
        let bytes = 1 << self.below(3);
        let address = self.good_address(bytes);
        self.access_to(address, bytes);
    }

    /// A reveal at a byte of the public values, by a base and an immediate.
    fn reveal_to(&mut self, address: u32) {
        let (value, imm) = (self.source(), self.immediate());
        self.load_number(POINTER, address.wrapping_sub(imm as u32));
        self.emit(reveal_at(POINTER, value, imm));
    }

    fn condition(&mut self) -> u32 {
        *[0, 1, 4, 5, 6, 7].choose(&mut self.rng).expect("branches")
    }

    /// A branch over some constructs.
    fn skip(&mut self, depth: usize) {
        let (funct3, rs1, rs2) = (self.condition(), self.source(), self.source());
        let at = self.code.len();
        self.emit(0);
        for _ in 0..self.below(4) {
            // No loop inside: which constructs a loop may hold is known from `depth`.
            self.block(depth.max(1));
        }
        let offset = 4 * (self.code.len() - at) as i32;
        self.code[at] = b_type(funct3, rs1, rs2, offset);
    }

    /// A loop of a few rounds.
    fn repeat(&mut self, depth: usize) {
        let counter = COUNTERS[depth];
        let rounds = 1 + self.below(4) as i32;
        self.emit(addi(counter, 0, rounds));
        let at = self.code.len();
        for _ in 0..1 + self.below(4) {
            self.block(depth + 1);
        }
        if depth == 0 && self.rng.random_ratio(1, 4) {
            self.repeat(1);
        }
        self.emit(addi(counter, counter, -1));
        self.emit(bne(counter, 0, 4 * (at as i32 - self.code.len() as i32)));
    }

    /// A function, and calls of it of each form.
    fn call(&mut self) {
        let jump = self.code.len();
        self.emit(0);
        for _ in 0..1 + self.below(3) {
            self.block(1);
        }
        // The lowest bit of the sum is ignored.
        let odd = self.below(2) as i32;
        self.emit(jalr(0, LINK, odd));
        self.code[jump] = jal(0, 4 * (self.code.len() - jump) as i32);
        let function = jump as i32 + 1;
        let here = self.code.len() as i32;
        self.emit(jal(LINK, 4 * (function - here)));
        if self.rng.random() {
            let target = self.text + 4 * function as u32;
            let imm = self.immediate();
            self.load_number(LINK, target.wrapping_sub(imm as u32));
            self.emit(jalr(LINK, LINK, imm));
        }
        if self.rng.random() {
            let here = self.code.len() as i32;
            self.emit(auipc(LINK, 0));
            match 4 * (function - here) {
                near @ -2048.. => self.emit(jalr(LINK, LINK, near)),
                // Far away: the call ends at the next instruction instead.
                _ => self.emit(jalr(LINK, LINK, 8)),
            }
        }
    }

    /// Reads an input, and some words of it.
    fn hint(&mut self) {
        let Some(input) = self.inputs.get(self.taken) else {
            return self.access();
        };
        let words = 1 + input.len().div_ceil(4) as u32;
        self.taken += 1;
        self.emit(hint_input());
        let count = self.below(words + 1);
        if count > 0 && self.rng.random() {
            let address = self.data_for(count);
            self.load_number(POINTER, address);
            self.emit(addi(COUNT, 0, count as i32));
            self.emit(hint_buffer(POINTER, COUNT));
        } else {
            for _ in 0..count {
                let address = self.data_for(1);
                self.load_number(POINTER, address);
                self.emit(hint_word(POINTER));
            }
        }
    }

    /// An address of so many words of data.
    fn data_for(&mut self, words: u32) -> u32 {
        DATA + 4 * self.below(DATA_WORDS - words)
    }

    /// Takes random words, which are overwritten at once: the reference executor has others.
    fn random_hint(&mut self) {
        let count = self.below(4) as i32;
        self.emit(addi(COUNT, 0, count));
        self.emit(hint_random(COUNT));
        if count > 0 {
            let address = self.data_for(1);
            self.load_number(POINTER, address);
            self.emit(hint_word(POINTER));
            self.emit(sw(COUNT, POINTER, 0));
        }
    }

    /// A failing construct that a branch or jump leaves out.
    fn skipped_fault(&mut self) {
        let at = self.code.len();
        self.emit(0);
        let known = self.code.len();
        self.runtime_fault();
        debug_assert!(self.code.len() > known);
        let offset = 4 * (self.code.len() - at) as i32;
        let rs = self.source();
        self.code[at] = match self.below(3) {
            0 => b_type(0, rs, rs, offset),
            1 => b_type(7, rs, 0, offset),
            _ => jal(0, offset),
        };
    }

    /// Something that ends the program with an error, when it is loaded or run.
    fn fault(&mut self) {
        match self.below(12) {
            0 => self.unknown_word(),
            1 => self.is_cut = true,
            // An endless loop.
            2 => {
                let back = self.below(1 + self.code.len().min(3) as u32) as i32;
                for _ in 0..back {
                    self.emit(addi(1, 1, 1));
                }
                self.emit(jal(0, -4 * back));
            }
            _ => self.runtime_fault(),
        }
    }

    /// A word that is no instruction of RV32IM or OpenVM.
    fn unknown_word(&mut self) {
        let register = self.source();
        let words = [
            0,
            0xffff_ffff,
            // fence.i, a compressed instruction twice, an atomic, a float, a 64-bit load and store, custom-1.
            0x0000_100f,
            0x0001_0001,
            0x0ac5_202f,
            0x0005_2007,
            i_type(0x03, 3, register, register, 0),
            s_type(3, register, register, 0),
            0x0000_002b,
            // Shifts by 33, and with a wrong funct7.
            i_type(0x13, 1, register, 5, 33),
            i_type(0x13, 1, 0, 5, 33),
            i_type(0x13, 5, register, 5, 33),
            i_type(0x13, 5, register, 5, 0x421),
            r_type(0x20, 4, register, 1, 2),
            jal(register, -(1 << 20)),
            r_type(2, 0, register, 1, 2),
            b_type(2, register, 1, 8),
            i_type(0x67, 1, register, 1, 0),
            // OpenVM's: exit codes that are no bytes, hints and phantoms that do not exist.
            terminate(256),
            terminate(-1),
            i_type(CUSTOM, 1, register, 0, 2),
            i_type(CUSTOM, 3, register, 0, 3),
            i_type(CUSTOM, 4, register, 0, 0),
            i_type(CUSTOM, 7, register, 0, 0),
        ];
        let word = *words.choose(&mut self.rng).expect("words");
        self.emit(word);
    }

    /// A construct that ends the program with an error when it is executed.
    fn runtime_fault(&mut self) {
        match self.below(9) {
            0 => {
                let bytes = 2 << self.below(2);
                let address = self.good_address(bytes) + 1 + self.below(bytes - 1);
                self.access_to(address, bytes);
            }
            1 => {
                let bytes = 1 << self.below(3);
                let far = self.rng.random_range(MEMORY..=u32::MAX);
                let address = *[MEMORY, 1 << 31, 3 << 29, u32::MAX - 3, u32::MAX, far]
                    .choose(&mut self.rng)
                    .expect("addresses");
                self.access_to(address, bytes);
            }
            2 => self.bad_jump(),
            3 => self.bad_offset(),
            4 => self.trap(),
            5 => {
                let code = self.rng.random_range(1..256);
                self.emit(terminate(code));
            }
            6 => {
                let end = PUBLIC_VALUES as u32;
                let address = *[end, end - 2, end - 1, 130, 1 << 29, u32::MAX - 3, u32::MAX]
                    .choose(&mut self.rng)
                    .expect("addresses");
                self.reveal_to(address);
            }
            _ => self.bad_hint(),
        }
    }

    /// A `jalr` to where no instruction is.
    fn bad_jump(&mut self) {
        let here = self.text + 4 * self.code.len() as u32;
        let far = self.rng.random();
        let address = *[
            here + 2,
            here - 6,
            here + 3,
            self.text.wrapping_sub(4),
            0,
            MEMORY - 4,
            (1 << 30) - 4,
            1 << 30,
            1 << 31,
            u32::MAX - 3,
            far,
        ]
        .choose(&mut self.rng)
        .expect("addresses");
        let imm = self.immediate();
        self.load_number(LINK, address.wrapping_sub(imm as u32));
        let rd = *[0, 1, LINK].choose(&mut self.rng).expect("registers");
        self.emit(jalr(rd, LINK, imm));
    }

    /// A branch or `jal` to where no instruction is.
    fn bad_offset(&mut self) {
        let out = -4 * (self.code.len() as i32 + 1);
        let branch = [2, 6, -2, -4096, 4094, out.max(-4096)];
        let jump = [2, -2, out, 4 - (1 << 20), (1 << 20) - 2, (1 << 20) - 4];
        let word = if self.rng.random() {
            let offset = *branch.choose(&mut self.rng).expect("offsets");
            b_type(5, 3, 3, offset)
        } else {
            let offset = *jump.choose(&mut self.rng).expect("offsets");
            jal(self.source(), offset)
        };
        self.emit(word);
    }

    /// An instruction for system calls or registers of the system.
    fn trap(&mut self) {
        let csr = self.rng.random_range(-2048..2048);
        let funct3 = *[1, 2, 3, 5, 6, 7].choose(&mut self.rng).expect("forms");
        let any = i_type(0x73, funct3, self.source(), self.source(), csr);
        // unimp, a write that compilers make of it, ecall, ebreak, mret, wfi, a read of the cycles.
        let words = [
            0xc000_1073,
            i_type(0x73, 1, 0, 0, csr),
            0x0000_0073,
            0x0010_0073,
            0x3020_0073,
            0x1050_0073,
            0xc000_2573,
            any,
        ];
        let word = *words.choose(&mut self.rng).expect("words");
        self.emit(word);
    }

    /// A hint or print that asks for what is not there.
    fn bad_hint(&mut self) {
        let data = self.data_for(1);
        let bad_pointer = *[
            DATA + 1,
            DATA + 2,
            MEMORY,
            MEMORY - 2,
            1 << 31,
            u32::MAX - 3,
            u32::MAX,
        ]
        .choose(&mut self.rng)
        .expect("addresses");
        match self.below(8) {
            0 => (0..5).for_each(|_| self.emit(hint_input())),
            // The words of one input are used up.
            1 => {
                self.load_number(POINTER, data);
                (0..8).for_each(|_| self.emit(hint_word(POINTER)));
            }
            2 => {
                let count = *[0, 1024, 1 << 16, 1 << 31, u32::MAX]
                    .choose(&mut self.rng)
                    .expect("counts");
                self.load_number(POINTER, data);
                self.load_number(COUNT, count);
                self.emit(hint_buffer(POINTER, COUNT));
            }
            3 => {
                self.emit(addi(COUNT, 0, 8));
                self.emit(hint_random(COUNT));
                self.load_number(POINTER, bad_pointer);
                self.emit(hint_word(POINTER));
            }
            4 => {
                self.emit(addi(COUNT, 0, 8));
                self.emit(hint_random(COUNT));
                let pointer = *[bad_pointer, MEMORY - 28]
                    .choose(&mut self.rng)
                    .expect("addresses");
                self.load_number(POINTER, pointer);
                self.emit(hint_buffer(POINTER, COUNT));
            }
            // Fewer words than asked for.
            5 => {
                self.emit(addi(COUNT, 0, 7));
                self.emit(hint_random(COUNT));
                self.emit(addi(COUNT, 0, 8));
                self.load_number(POINTER, data);
                self.emit(hint_buffer(POINTER, COUNT));
            }
            6 => {
                let count = *[(1 << 24) + 1, 1 << 31, u32::MAX]
                    .choose(&mut self.rng)
                    .expect("counts");
                self.load_number(COUNT, count);
                self.emit(hint_random(COUNT));
            }
            _ => {
                let (from, count) = *[
                    (MEMORY, 1),
                    (MEMORY - 1, 2),
                    (DATA, MEMORY),
                    (u32::MAX, 1),
                    (u32::MAX, u32::MAX),
                    (1, u32::MAX),
                ]
                .choose(&mut self.rng)
                .expect("texts");
                self.load_number(POINTER, from);
                self.load_number(COUNT, count);
                self.emit(print(POINTER, COUNT));
            }
        }
    }

    /// Instructions with random fields. Registers are edges or addresses of data, so that some go through.
    fn soup(&mut self) {
        for rd in (1..32).step_by(2) {
            let address = self.data_for(1) + 4 * self.below(2);
            self.load_number(rd, address);
        }
        for _ in 0..10 + self.below(60) {
            let (rd, rs1, rs2) = (self.source(), self.source() | 1, self.source());
            let small = 4 * self.rng.random_range(-16..16);
            let odd = self.rng.random_ratio(1, 30);
            let offset = small + if odd { 2 } else { 0 };
            let word = match self.below(16) {
                0..3 => i_type(
                    0x03,
                    *[0, 1, 2, 4, 5].choose(&mut self.rng).expect("loads"),
                    rd & !1,
                    rs1,
                    offset,
                ),
                3..6 => s_type(self.below(3), rs1, rs2, offset),
                6..8 => b_type(self.condition(), rs1, rs2, offset),
                8 => jal(rd & !1, offset.max(4)),
                9 => self.auipc_or_jalr(rd & !1, rs1),
                10 => i_type(0x13, 0, rd, rs1, self.rng.random_range(-2048..2048)),
                _ => {
                    self.arithmetic();
                    continue;
                }
            };
            self.emit(word);
        }
    }

    fn auipc_or_jalr(&mut self, rd: u32, rs1: u32) -> u32 {
        if self.rng.random_ratio(1, 6) {
            jalr(rd, rs1, self.immediate())
        } else {
            auipc(rd, 0)
        }
    }

    /// Reveals all registers and a digest of the data, and exits.
    fn finish(mut self) -> Program {
        if !self.is_cut {
            for register in 1..32 {
                self.emit(reveal(register, 4 * register as i32));
            }
            self.digest();
            let code = match self.rng.random_ratio(1, 20) {
                true => self.rng.random_range(0..256),
                false => 0,
            };
            self.emit(terminate(code));
        }
        Program {
            image: Image {
                text: self.text,
                code: self.code,
                data: self.data,
            },
            inputs: self.inputs,
        }
    }

    fn digest(&mut self) {
        let [pointer, count, value, digest, shifted] = [5, 6, 7, 8, 9];
        self.load_number(pointer, DATA);
        self.emit(addi(count, 0, DATA_WORDS as i32));
        let round = [
            lw(value, pointer, 0),
            i_type(0x13, 1, shifted, digest, 5),
            add(digest, digest, shifted),
            r_type(0, 4, digest, digest, value),
            addi(pointer, pointer, 4),
            addi(count, count, -1),
        ];
        self.code.extend(round);
        self.emit(bne(count, 0, -4 * round.len() as i32));
        self.emit(reveal(digest, 0));
    }
}

/// Makes as many random words as `count` has the hint.
fn hint_random(count: u32) -> u32 {
    i_type(CUSTOM, 3, count, 0, 2)
}
