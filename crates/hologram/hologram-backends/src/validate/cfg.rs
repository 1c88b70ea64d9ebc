//! The control-flow graph.

use std::ops::Range;

use crate::isa::Instruction;
use crate::program::Program;

/// End of a basic block. A place equal to the program's length is its end: the lane ends there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Terminator {
    /// Goes on with the next instruction.
    Next,
    /// Jumps to a pc.
    Jump(usize),
    /// Jumps to a pc or goes on (`bra` with a predicate, `loop`).
    Branch(usize),
    /// Calls the routine at a pc; goes on when it returns.
    Call(usize),
    /// Returns.
    Return,
    /// The lane ends.
    Exit,
}

/// Instructions that are entered at the first and left at the last only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicBlock {
    /// The instructions.
    pub pcs: Range<usize>,
    /// End of the block.
    pub terminator: Terminator,
}

/// Basic blocks in order of their pcs, with jump targets resolved.
#[derive(Clone, Debug)]
pub struct ControlFlow {
    blocks: Vec<BasicBlock>,
    /// Block of each pc that begins one, `u32::MAX` elsewhere.
    block_at: Vec<u32>,
}

impl ControlFlow {
    /// The graph of a program whose labels are all bound within it.
    pub(super) fn new(program: &Program) -> Self {
        let len = program.len();
        let target = |instruction: &Instruction| {
            let label = instruction.target()?;
            program.resolve_label(label.name())
        };
        let mut leader = vec![false; len + 1];
        leader[0] = true;
        for (pc, instruction) in program.instructions().iter().enumerate() {
            if let Some(target) = target(instruction) {
                leader[target.min(len)] = true;
            }
            if instruction.is_control_flow() {
                leader[pc + 1] = true;
            }
        }
        let mut blocks = Vec::new();
        let mut block_at = vec![u32::MAX; len];
        let mut start = 0;
        while start < len {
            let end = (start + 1..len).find(|&pc| leader[pc]).unwrap_or(len);
            let last = &program.instructions()[end - 1];
            let to = target(last).unwrap_or(len);
            let terminator = match last {
                Instruction::Bra { pred: None, .. } => Terminator::Jump(to),
                Instruction::Bra { .. } | Instruction::Loop { .. } => Terminator::Branch(to),
                Instruction::Call { .. } => Terminator::Call(to),
                Instruction::Ret {} => Terminator::Return,
                Instruction::Exit {} => Terminator::Exit,
                _ => Terminator::Next,
            };
            block_at[start] = blocks.len() as u32;
            blocks.push(BasicBlock {
                pcs: start..end,
                terminator,
            });
            start = end;
        }
        Self { blocks, block_at }
    }

    /// All blocks.
    pub fn blocks(&self) -> &[BasicBlock] {
        &self.blocks
    }

    /// The block that begins at a pc; `None` for the end of the program.
    pub fn block_starting_at(&self, pc: usize) -> Option<usize> {
        match self.block_at.get(pc) {
            Some(&block) if block != u32::MAX => Some(block as usize),
            _ => None,
        }
    }

    /// Blocks that may follow within one routine: a call is followed by where it returns to.
    pub fn successors(&self, block: usize) -> impl Iterator<Item = usize> {
        let BasicBlock { pcs, terminator } = &self.blocks[block];
        let next = self.block_starting_at(pcs.end);
        let (first, second) = match *terminator {
            Terminator::Next | Terminator::Call(_) => (next, None),
            Terminator::Jump(to) => (self.block_starting_at(to), None),
            Terminator::Branch(to) => (self.block_starting_at(to), next),
            Terminator::Return | Terminator::Exit => (None, None),
        };
        first.into_iter().chain(second)
    }
}
