//! The encoding of programs: fixed-width instructions over registers, trace variables and uniforms.

/// Upper bound on the registers of a program; values beyond it live in spill slots.
pub const MAX_REGISTERS: u32 = 32;

/// Number of payload bits of an operand or sink word.
const INDEX_BITS: u32 = 28;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;

/// Place that an operand is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// Register of the current point.
    Register(u32),
    /// Column of the arena: the value of a trace variable at the current point.
    Variable(u32),
    /// Entry of the uniform table: a constant or public value, in the base field.
    Uniform(u32),
    /// Spill slot of the current point.
    Spill(u32),
}

impl Operand {
    fn encode(self) -> u32 {
        let (kind, index) = match self {
            Self::Register(i) => (0, i),
            Self::Variable(i) => (1, i),
            Self::Uniform(i) => (2, i),
            Self::Spill(i) => (3, i),
        };
        assert!(index <= INDEX_MASK, "operand index {index}");
        (kind << INDEX_BITS) | index
    }

    fn decode(word: u32) -> Self {
        let index = word & INDEX_MASK;
        match word >> INDEX_BITS {
            0 => Self::Register(index),
            1 => Self::Variable(index),
            2 => Self::Uniform(index),
            _ => Self::Spill(index),
        }
    }
}

/// Operation of an instruction on its operands `a`, `b`, `c`. In the forms ending in `U` operand
/// `b` is a uniform (4 instead of 16 products in the extension field).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Operation {
    /// `a`
    Copy = 0,
    /// `a + b`
    Add = 1,
    /// `a - b`
    Sub = 2,
    /// `a b`
    Mul = 3,
    /// `a b + c`
    MulAdd = 4,
    /// `a b - c`
    MulSub = 5,
    /// `c - a b`
    NegMulAdd = 6,
    /// `a u`
    MulU = 7,
    /// `a u + c`
    MulAddU = 8,
    /// `a u - c`
    MulSubU = 9,
    /// `c - a u`
    NegMulAddU = 10,
}

impl Operation {
    const ALL: [Self; 11] = [
        Self::Copy,
        Self::Add,
        Self::Sub,
        Self::Mul,
        Self::MulAdd,
        Self::MulSub,
        Self::NegMulAdd,
        Self::MulU,
        Self::MulAddU,
        Self::MulSubU,
        Self::NegMulAddU,
    ];

    /// Number of operands.
    pub fn arity(self) -> usize {
        match self {
            Self::Copy => 1,
            Self::Add | Self::Sub | Self::Mul | Self::MulU => 2,
            _ => 3,
        }
    }
}

/// Destination of an instruction's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sink {
    /// Written to a register.
    Register(u32),
    /// Written to a spill slot.
    Spill(u32),
    /// Accumulator 0 += coefficient * result (constraints; denominators of interactions).
    Accumulate0(u32),
    /// Accumulator 1 += coefficient * result (numerators of interactions).
    Accumulate1(u32),
    /// The result is the count of this interaction and accumulator 0 its message: write the fraction
    /// and clear the accumulator (only in programs for the GKR input layer).
    Emit(u32),
}

impl Sink {
    fn encode(self) -> (u32, u32) {
        match self {
            Self::Register(i) => (0, i),
            Self::Spill(i) => (1, i),
            Self::Accumulate0(i) => (2, i),
            Self::Accumulate1(i) => (3, i),
            Self::Emit(i) => (4, i),
        }
    }

    fn decode(kind: u32, index: u32) -> Self {
        match kind {
            0 => Self::Register(index),
            1 => Self::Spill(index),
            2 => Self::Accumulate0(index),
            3 => Self::Accumulate1(index),
            _ => Self::Emit(index),
        }
    }
}

/// One decoded instruction. Operands beyond the arity repeat operand `a`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub operation: Operation,
    pub operands: [Operand; 3],
    pub sink: Sink,
}

/// Words of an encoded instruction: `operation | sink kind << 4 | sink index << 8`, `a`, `b`, `c`.
/// An operand word is `kind << 28 | index`, kinds in the order of [`Operand`].
pub const INSTRUCTION_WORDS: usize = 4;

impl Instruction {
    /// The four words a kernel reads.
    ///
    /// # Panics
    /// If an index does not fit: the compiler refuses programs that large.
    pub fn encode(&self) -> [u32; INSTRUCTION_WORDS] {
        let (kind, index) = self.sink.encode();
        assert!(index < 1 << 24, "sink index {index}");
        let [a, b, c] = self.operands.map(Operand::encode);
        [self.operation as u32 | (kind << 4) | (index << 8), a, b, c]
    }

    /// Inverse of [`encode`](Self::encode).
    pub fn decode(words: [u32; INSTRUCTION_WORDS]) -> Self {
        Self {
            operation: Operation::ALL[(words[0] & 15) as usize % Operation::ALL.len()],
            operands: [words[1], words[2], words[3]].map(Operand::decode),
            sink: Sink::decode((words[0] >> 4) & 15, words[0] >> 8),
        }
    }
}

/// A straight-line program in blocks. Blocks share nothing but the accumulators, so that any
/// section of consecutive blocks can be evaluated by itself and the accumulators of all added up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// All instructions.
    pub code: Vec<Instruction>,
    /// First instruction of each block, ascending, starting at 0.
    pub blocks: Vec<u32>,
    /// Registers used: at most [`MAX_REGISTERS`].
    pub registers: u32,
    /// Spill slots used.
    pub spills: u32,
}

impl Program {
    /// True if there is nothing to evaluate.
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// Cuts the program at block boundaries into at most `most` sections of about equal length:
    /// instruction ranges, none empty.
    pub fn sections(&self, most: usize) -> Vec<std::ops::Range<u32>> {
        let len = self.code.len() as u32;
        let target = len.div_ceil(most.max(1) as u32).max(1);
        let mut sections = Vec::new();
        let mut begin = 0;
        for &cut in self.blocks.iter().skip(1).chain([&len]) {
            if cut - begin >= target || cut == len {
                if cut > begin {
                    sections.push(begin..cut);
                }
                begin = cut;
            }
        }
        sections
    }

    /// The code as words for the device.
    pub fn words(&self) -> impl Iterator<Item = u32> + '_ {
        self.code.iter().flat_map(Instruction::encode)
    }
}
