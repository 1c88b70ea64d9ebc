//! Random EVM programs.

use alloy_primitives::hex_literal::hex;
use revm::bytecode::opcode as op;

/// Random numbers, equal on all machines.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Program under construction, with the number of words on its stack.
struct Program {
    random: Random,
    code: Vec<u8>,
    depth: usize,
}

/// The primes of BN254, of its scalars and of its coordinates.
const MODULI: [[u8; 32]; 2] = [
    hex!("30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001"),
    hex!("30644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd47"),
];

/// Instructions with the number of words that they take; each leaves one.
const OPERATIONS: [(u8, usize); 35] = [
    (op::ADD, 2),
    (op::MUL, 2),
    (op::SUB, 2),
    (op::DIV, 2),
    (op::SDIV, 2),
    (op::MOD, 2),
    (op::SMOD, 2),
    (op::ADDMOD, 3),
    (op::MULMOD, 3),
    (op::SIGNEXTEND, 2),
    (op::LT, 2),
    (op::GT, 2),
    (op::SLT, 2),
    (op::SGT, 2),
    (op::EQ, 2),
    (op::ISZERO, 1),
    (op::AND, 2),
    (op::OR, 2),
    (op::XOR, 2),
    (op::NOT, 1),
    (op::BYTE, 2),
    (op::SHL, 2),
    (op::SHR, 2),
    (op::SAR, 2),
    (op::ADDRESS, 0),
    (op::CALLDATASIZE, 0),
    (op::CODESIZE, 0),
    (op::PC, 0),
    (op::MSIZE, 0),
    (op::GAS, 0),
    // Replaced instructions a second time, so that they are drawn more often.
    (op::LT, 2),
    (op::SLT, 2),
    (op::SHL, 2),
    (op::SHR, 2),
    (op::SAR, 2),
];

impl Program {
    fn push(&mut self, bytes: &[u8]) {
        self.code.push(op::PUSH0 + bytes.len() as u8);
        self.code.extend_from_slice(bytes);
        self.depth += 1;
    }

    /// Pushes a number: small, near a power of two or its negative, or any.
    fn number(&mut self) {
        let length = self.random.below(33);
        let mut bytes = vec![0; length];
        match self.random.below(6) {
            0 => {
                if let Some(last) = bytes.last_mut() {
                    *last = self.random.below(256) as u8;
                }
            }
            1 => bytes.fill(0xff),
            2 if length > 0 => bytes[0] = 1 << self.random.below(8),
            3 if length > 0 => {
                bytes.fill(0xff);
                bytes[0] >>= self.random.below(8);
            }
            // A modulus of BN254, and the numbers beside it.
            4 => {
                bytes = MODULI[self.random.below(2)].to_vec();
                bytes[31] = bytes[31] + self.random.below(3) as u8 - 1;
            }
            _ => bytes.fill_with(|| self.random.below(256) as u8),
        }
        self.push(&bytes);
    }

    fn small(&mut self, bound: usize) {
        let number = self.random.below(bound) as u16;
        if number < 256 && self.random.below(2) == 0 {
            self.push(&[number as u8]);
        } else {
            self.push(&number.to_be_bytes());
        }
    }

    fn operation(&mut self) {
        let (operation, words) = OPERATIONS[self.random.below(OPERATIONS.len())];
        if matches!(operation, op::BYTE..=op::SAR | op::SIGNEXTEND) && self.random.below(3) > 0 {
            self.small(300);
        }
        while self.depth < words {
            self.number();
        }
        self.code.push(operation);
        self.depth = self.depth - words + 1;
    }

    /// Pushes the target of a jump over `bytes_between` bytes and appends the jump.
    fn target(&mut self, instruction: u8, bytes_between: usize) {
        let is_pushed = self.random.below(3) > 0;
        // PUSH2 and JUMP; or with an addition between, after which the target is no constant.
        let length = if is_pushed { 4 } else { 7 };
        let target = (self.code.len() + length + bytes_between) as u16;
        if is_pushed {
            self.push(&target.to_be_bytes());
        } else {
            self.push(&[5]);
            self.push(&(target - 5).to_be_bytes());
            self.code.push(op::ADD);
            self.depth -= 1;
        }
        self.code.push(instruction);
        self.depth -= if instruction == op::JUMPI { 2 } else { 1 };
    }

    fn step(&mut self) {
        match self.random.below(26) {
            0..=4 => self.number(),
            5..=13 => self.operation(),
            14 | 15 if self.depth > 0 => {
                let n = self.random.below(self.depth.min(16));
                self.code.push(op::DUP1 + n as u8);
                self.depth += 1;
            }
            16 | 17 if self.depth > 1 => {
                let n = self.random.below((self.depth - 1).min(16));
                self.code.push(op::SWAP1 + n as u8);
            }
            18 if self.depth > 0 => {
                self.code.push(op::POP);
                self.depth -= 1;
            }
            19 if self.depth > 0 => {
                let bound = if self.random.below(8) == 0 {
                    5_000
                } else {
                    200
                };
                self.small(bound);
                self.code.push(if self.random.below(8) == 0 {
                    op::MSTORE8
                } else {
                    op::MSTORE
                });
                self.depth -= 2;
            }
            20 => {
                self.small(200);
                self.code.push(op::MLOAD);
            }
            21 => {
                self.small(100);
                self.small(100);
                self.code.push(op::KECCAK256);
                self.depth -= 1;
            }
            // A jump over bytes that may look like destinations.
            22 => {
                let junk = self.random.below(6);
                self.target(op::JUMP, junk);
                for _ in 0..junk {
                    let byte = [op::JUMPDEST, op::INVALID, op::STOP, op::ADD][self.random.below(4)];
                    self.code.push(byte);
                }
                // An immediate hides the destination of a few.
                if junk > 0 && self.random.below(32) == 0 {
                    self.code.pop();
                    self.code.push(op::PUSH1);
                }
                self.code.push(op::JUMPDEST);
            }
            // A conditional jump over an instruction.
            23 if self.depth > 0 => {
                let code = [
                    &[op::JUMPDEST, op::JUMPDEST][..],
                    &[op::PC, op::POP],
                    &[op::PUSH1, op::JUMPDEST, op::POP],
                ];
                let between = code[self.random.below(3)];
                if self.random.below(2) == 0 {
                    self.code.push(op::ISZERO);
                }
                self.target(op::JUMPI, between.len());
                self.code.extend_from_slice(between);
                self.code.push(op::JUMPDEST);
            }
            // A call of the program by itself, with little gas.
            24 => {
                for bound in [100, 100, 100, 100] {
                    self.small(bound);
                }
                let kind = [op::CALL, op::STATICCALL, op::DELEGATECALL][self.random.below(3)];
                if kind == op::CALL {
                    self.push(&[]);
                }
                self.code.push(op::ADDRESS);
                self.depth += 1;
                self.small(20_000);
                self.code.push(kind);
                self.depth -= if kind == op::CALL { 6 } else { 5 };
            }
            // A contract whose code is memory.
            25 => {
                self.small(60);
                self.small(100);
                self.push(&[]);
                self.code.push(op::CREATE);
                self.depth -= 2;
            }
            _ => self.number(),
        }
    }

    /// Appends a loop that multiplies a word by 7, stores it and loads it at another offset, 1 to 200 times: up to 3,400 instructions.
    fn repeat(&mut self) {
        let count = 1 + self.random.below(200) as u8;
        self.number();
        self.push(&[count]);
        let start = self.code.len() as u16;
        let body = [
            op::JUMPDEST,
            op::SWAP1,
            op::PUSH1,
            7,
            op::MUL,
            op::PUSH0,
            op::MSTORE,
            op::PUSH1,
            3,
            op::MLOAD,
            op::SWAP1,
            op::PUSH1,
            1,
            op::SWAP1,
            op::SUB,
            op::DUP1,
        ];
        self.code.extend_from_slice(&body);
        self.push(&start.to_be_bytes());
        self.code.push(op::JUMPI);
        self.depth -= 1;
    }
}

/// Returns a program that stores the words of its stack; one in six has a changed byte.
pub fn random_program(seed: u64) -> Vec<u8> {
    let mut program = Program {
        random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)),
        code: Vec::new(),
        depth: 0,
    };
    for _ in 0..4 + program.random.below(120) {
        program.step();
    }
    if program.random.below(3) == 0 {
        program.repeat();
    }
    for slot in 0..program.depth.min(12) as u8 {
        program
            .code
            .extend_from_slice(&[op::PUSH1, slot, op::SSTORE]);
    }
    if program.random.below(6) == 0 {
        let at = program.random.below(program.code.len());
        program.code[at] = program.random.below(256) as u8;
    }
    program.code
}
