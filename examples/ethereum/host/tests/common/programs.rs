//! Random programs of Ethereum's virtual machine.

/// Random numbers, equal on all machines.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// A program, and how many words lie on the stack at its end so far.
struct Program {
    random: Random,
    code: Vec<u8>,
    depth: usize,
}

/// Instructions with the number of words that they take; each leaves one.
const OPERATIONS: [(u8, usize); 35] = [
    (0x01, 2), // ADD
    (0x02, 2), // MUL
    (0x03, 2), // SUB
    (0x04, 2), // DIV
    (0x05, 2), // SDIV
    (0x06, 2), // MOD
    (0x07, 2), // SMOD
    (0x08, 3), // ADDMOD
    (0x09, 3), // MULMOD
    (0x0b, 2), // SIGNEXTEND
    (0x10, 2), // LT
    (0x11, 2), // GT
    (0x12, 2), // SLT
    (0x13, 2), // SGT
    (0x14, 2), // EQ
    (0x15, 1), // ISZERO
    (0x16, 2), // AND
    (0x17, 2), // OR
    (0x18, 2), // XOR
    (0x19, 1), // NOT
    (0x1a, 2), // BYTE
    (0x1b, 2), // SHL
    (0x1c, 2), // SHR
    (0x1d, 2), // SAR
    (0x30, 0), // ADDRESS
    (0x36, 0), // CALLDATASIZE
    (0x38, 0), // CODESIZE
    (0x58, 0), // PC
    (0x59, 0), // MSIZE
    (0x5a, 0), // GAS
    // Again those that are replaced.
    (0x10, 2),
    (0x12, 2),
    (0x1b, 2),
    (0x1c, 2),
    (0x1d, 2),
];

impl Program {
    fn push(&mut self, bytes: &[u8]) {
        self.code.push(0x5f + bytes.len() as u8);
        self.code.extend_from_slice(bytes);
        self.depth += 1;
    }

    /// Pushes a number: small, near a power of two or its negative, or any.
    fn number(&mut self) {
        let length = self.random.below(33);
        let mut bytes = vec![0; length];
        match self.random.below(5) {
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
        if matches!(operation, 0x1a..=0x1d | 0x0b) && self.random.below(3) > 0 {
            self.small(300);
        }
        while self.depth < words {
            self.number();
        }
        self.code.push(operation);
        self.depth = self.depth - words + 1;
    }

    /// The target of a jump, as it is pushed before the place is known.
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
            self.code.push(0x01);
            self.depth -= 1;
        }
        self.code.push(instruction);
        self.depth -= if instruction == 0x57 { 2 } else { 1 };
    }

    fn step(&mut self) {
        match self.random.below(24) {
            0..=4 => self.number(),
            5..=13 => self.operation(),
            14 | 15 if self.depth > 0 => {
                let n = self.random.below(self.depth.min(16));
                self.code.push(0x80 + n as u8);
                self.depth += 1;
            }
            16 | 17 if self.depth > 1 => {
                let n = self.random.below((self.depth - 1).min(16));
                self.code.push(0x90 + n as u8);
            }
            18 if self.depth > 0 => {
                self.code.push(0x50);
                self.depth -= 1;
            }
            // MSTORE, MSTORE8
            19 if self.depth > 0 => {
                let bound = if self.random.below(8) == 0 {
                    5_000
                } else {
                    200
                };
                self.small(bound);
                self.code.push(0x52 + u8::from(self.random.below(8) == 0));
                self.depth -= 2;
            }
            // MLOAD
            20 => {
                self.small(200);
                self.code.push(0x51);
            }
            // KECCAK256
            21 => {
                self.small(100);
                self.small(100);
                self.code.push(0x20);
                self.depth -= 1;
            }
            // A jump over bytes that may look like destinations.
            22 => {
                let junk = self.random.below(6);
                self.target(0x56, junk);
                for _ in 0..junk {
                    let byte = [0x5b, 0xfe, 0x00, 0x01][self.random.below(4)];
                    self.code.push(byte);
                }
                // An immediate hides the destination of a few.
                if junk > 0 && self.random.below(32) == 0 {
                    self.code.pop();
                    self.code.push(0x60);
                }
                self.code.push(0x5b);
            }
            // A conditional jump over an instruction.
            23 if self.depth > 0 => {
                let code = [&[0x5b, 0x5b][..], &[0x58, 0x50], &[0x60, 0x5b, 0x50]];
                let between = code[self.random.below(3)];
                if self.random.below(2) == 0 {
                    self.code.push(0x15);
                }
                self.target(0x57, between.len());
                self.code.extend_from_slice(between);
                self.code.push(0x5b);
            }
            _ => self.number(),
        }
    }

    /// A loop that adds the words on the stack, so that it takes thousands of instructions.
    fn repeat(&mut self) {
        let count = 1 + self.random.below(200) as u8;
        self.number();
        self.push(&[count]);
        let start = self.code.len() as u16;
        // JUMPDEST, SWAP1, PUSH1 7, MUL, PUSH0, MSTORE, PUSH1 3, MLOAD, SWAP1, PUSH1 1, SWAP1, SUB, DUP1
        let body = [
            0x5b, 0x90, 0x60, 7, 0x02, 0x5f, 0x52, 0x60, 3, 0x51, 0x90, 0x60, 1, 0x90, 0x03, 0x80,
        ];
        self.code.extend_from_slice(&body);
        self.push(&start.to_be_bytes());
        self.code.push(0x57);
        self.depth -= 1;
    }
}

/// A program that leaves what it computes in storage. Some are damaged, and fail.
pub fn program(seed: u64) -> Vec<u8> {
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
    // SSTORE of the words on the stack.
    for slot in 0..program.depth.min(12) as u8 {
        program.code.extend_from_slice(&[0x60, slot, 0x55]);
    }
    if program.random.below(6) == 0 {
        let at = program.random.below(program.code.len());
        program.code[at] = program.random.below(256) as u8;
    }
    program.code
}
