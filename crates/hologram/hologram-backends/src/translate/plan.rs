//! Result of a translation: the kernel's source and the values of its parameters.

use crate::isa::{Address, Instruction, Register, Ty};
use crate::program::Program;

/// Source of a buffer handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The `mov_imm` at this pc.
    Immediate(usize),
    /// The fixed handle of the address at this pc.
    Fixed(usize),
    /// An initial register.
    Initial(Register),
}

/// One 64-bit word of a kernel's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// Step budget of a lane.
    Budget,
    /// Arena offset of the boundary pool.
    Boundary,
    /// Low half of the first buffer handle of the table.
    TableFirst,
    /// Buffers in the table.
    TableEntries,
    /// Low half of the first pool handle of the table.
    PoolFirst,
    /// Pools in the table, behind the buffers.
    PoolEntries,
    /// 1 if a lane's class is its block's x index mod 96.
    ClassFromBlock,
    /// Bytes of shared memory.
    SharedSize,
    /// Lanes of a block along x.
    BlockX,
    /// Value of the `mov_imm` at this pc.
    Immediate(usize),
    /// Bits of an initial register.
    Initial(Register),
    /// Arena offset of a buffer, `u64::MAX` if there is none.
    At(Source),
    /// Bytes of a buffer, 0 if there is none.
    Size(Source),
    /// The handle itself, for messages.
    Handle(Source),
}

/// Number of slots that every kernel has, in the order of [`FIXED_SLOTS`].
pub const FIXED: usize = 9;
/// The first slots of every kernel.
pub const FIXED_SLOTS: [Slot; FIXED] = [
    Slot::Budget,
    Slot::Boundary,
    Slot::TableFirst,
    Slot::TableEntries,
    Slot::PoolFirst,
    Slot::PoolEntries,
    Slot::ClassFromBlock,
    Slot::SharedSize,
    Slot::BlockX,
];

/// Choices that are part of a kernel's shape.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Options {
    /// For an Apple GPU: no `f64`.
    pub apple: bool,
    /// Grid and block have one row: the place in the grid is one number.
    pub linear: bool,
    /// Steps are counted even without loops and calls, because the budget is small.
    pub tight_budget: bool,
    /// Steps are not counted: the budget is `u64::MAX`.
    pub unlimited: bool,
    /// Every access lies inside its buffer, and no divisor is 0: nothing is tested.
    pub in_bounds: bool,
    /// Types of the initial registers, by register.
    pub initial: Vec<(Register, Ty)>,
}

/// A translated program.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Text of the kernel with `$K` for its name: equal texts are one shape.
    pub text: String,
    /// Words of the parameters.
    pub slots: Vec<Slot>,
    /// Handles are looked up while the kernel runs.
    pub table: bool,
    /// The boundary pool is used.
    pub boundary: bool,
    /// Lanes of a block meet: barriers or shared memory.
    pub cooperative: bool,
    /// The kernel's flow has the form of a switch.
    pub switched: bool,
    /// Neighbouring lanes do the same: compilers make vector code of them.
    pub vectors: bool,
}

impl Plan {
    /// The kernel called `name`.
    pub fn kernel(&self, name: &str) -> String {
        self.text.replace("$K", name)
    }

    /// Raw handle of a source, given the program and its initial registers.
    pub fn handle(program: &Program, initial: &[(Register, Ty, u64)], source: Source) -> u64 {
        match source {
            Source::Immediate(pc) => immediate(program, pc),
            Source::Fixed(pc) => match address(program, pc) {
                Some(Address::BufferOffset { handle, .. }) => handle,
                _ => 0,
            },
            Source::Initial(register) => initial_bits(initial, register),
        }
    }
}

/// Value of the `mov_imm` at `pc`.
pub fn immediate(program: &Program, pc: usize) -> u64 {
    match program.instructions().get(pc) {
        Some(&Instruction::MovImm { ty, value, .. }) => value & ty.mask(),
        _ => 0,
    }
}

/// Bits of an initial register; of several values the last counts.
pub fn initial_bits(initial: &[(Register, Ty, u64)], register: Register) -> u64 {
    initial
        .iter()
        .rev()
        .find(|(r, _, _)| *r == register)
        .map_or(0, |&(_, ty, bits)| bits & ty.mask())
}

/// Address of the memory instruction at `pc`.
pub fn address(program: &Program, pc: usize) -> Option<Address> {
    match *program.instructions().get(pc)? {
        Instruction::Ldg { addr, .. }
        | Instruction::Stg { addr, .. }
        | Instruction::Lds { addr, .. }
        | Instruction::Sts { addr, .. } => Some(addr),
        _ => None,
    }
}
