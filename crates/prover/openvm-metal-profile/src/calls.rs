//! `CallTree`: call stacks, followed by what jumps do.
//!
//! A jump that keeps its return address in `ra` or `t0` is a call. A jump to the return address of a frame ends that frame and
//! those above it. Any other way into another function, as a tail call, replaces the frame on top.

use std::ops::Range;

use openvm_circuit::arch::instructions::{
    instruction::Instruction, program::DEFAULT_PC_STEP, LocalOpcode, SystemOpcode,
};

use openvm_rv32im_transpiler::{Rv32AuipcOpcode, Rv32JalLuiOpcode, Rv32JalrOpcode};
use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use p3_field::{PrimeCharacteristicRing, PrimeField32};
use rustc_hash::FxHashMap;

use crate::{cost::Cost, Executable, Symbols};

/// Most call stacks, and most slots of costs. Beyond them calls are counted by function alone.
const MAX_NODES: usize = 1 << 18;
const MAX_SLOTS: usize = 1 << 23;

/// Most frames of the stack. Calls beyond it replace the frame on top, as tail calls do.
const MAX_DEPTH: usize = 1 << 16;

/// Registers that hold return addresses, times the 4 bytes of a register.
const RETURN_REGISTERS: [u32; 2] = [4, 20];

/// Effect of an instruction on the call stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The next instruction follows, or another of the same or another function.
    Other,
    Call,
    Return,
    /// The program ends.
    End,
}

impl Flow {
    pub fn of(instruction: &Instruction<F>) -> Self {
        let opcode = instruction.opcode;
        let keeps_return_address = RETURN_REGISTERS.contains(&instruction.a.as_canonical_u32());
        let writes = instruction.f != F::ZERO;
        if opcode == SystemOpcode::TERMINATE.global_opcode() {
            Self::End
        } else if opcode == Rv32JalLuiOpcode::JAL.global_opcode() {
            match keeps_return_address && writes {
                true => Self::Call,
                false => Self::Other,
            }
        } else if opcode == Rv32JalrOpcode::JALR.global_opcode() {
            let source = instruction.b.as_canonical_u32();
            match (
                keeps_return_address && writes,
                RETURN_REGISTERS.contains(&source),
            ) {
                (true, _) => Self::Call,
                (false, true) => Self::Return,
                (false, false) => Self::Other,
            }
        } else {
            Self::Other
        }
    }
}

/// The program's instructions by functions.
pub(crate) struct Functions {
    /// Index of the first instruction.
    base: u32,
    /// Ranges of indices, in order, that cover the program.
    ranges: Vec<Range<u32>>,
    /// Function of each instruction.
    of: Vec<u32>,
}

impl Functions {
    /// Functions by symbols; without symbols by the calls that name their address.
    pub fn new(exe: &Executable, symbols: &Symbols) -> Self {
        let program = &exe.program;
        let base = program.pc_base / DEFAULT_PC_STEP;
        let length = program.len() as u32;
        let mut starts: Vec<u32> = match symbols.is_empty() {
            true => called(exe),
            false => {
                let functions = symbols.functions().iter();
                functions.flat_map(|f| [f.start, f.end]).collect()
            }
        };
        starts.extend([program.pc_base, exe.pc_start]);
        let index = |pc: u32| (pc / DEFAULT_PC_STEP).checked_sub(base);
        let mut starts: Vec<u32> = starts.into_iter().filter_map(index).collect();
        starts.retain(|&start| start < length);
        starts.sort_unstable();
        starts.dedup();
        let ends = starts.iter().skip(1).copied().chain([length]);
        let ranges: Vec<Range<u32>> = starts.iter().zip(ends).map(|(&s, e)| s..e).collect();
        let mut of = vec![0; length as usize];
        for (function, range) in ranges.iter().enumerate() {
            of[range.start as usize..range.end as usize].fill(function as u32);
        }
        Self { base, ranges, of }
    }

    /// Index of the instruction at an address; `None` outside of the program.
    pub fn index(&self, pc: u32) -> Option<u32> {
        let index = (pc / DEFAULT_PC_STEP).checked_sub(self.base)?;
        ((index as usize) < self.of.len()).then_some(index)
    }

    /// Address of an instruction.
    pub fn pc(&self, index: u32) -> u32 {
        (self.base + index) * DEFAULT_PC_STEP
    }
}

/// Addresses that calls of the program name.
fn called(exe: &Executable) -> Vec<u32> {
    let program = &exe.program;
    let (auipc, jalr) = (
        Rv32AuipcOpcode::AUIPC.global_opcode(),
        Rv32JalrOpcode::JALR.global_opcode(),
    );
    let mut targets = Vec::new();
    let mut before: Option<(&Instruction<F>, u32)> = None;
    for (index, slot) in program.instructions_and_debug_infos.iter().enumerate() {
        let pc = program.pc_base + index as u32 * DEFAULT_PC_STEP;
        let Some((instruction, _)) = slot else {
            before = None;
            continue;
        };
        if Flow::of(instruction) == Flow::Call {
            if instruction.opcode != jalr {
                targets.push(offset(pc, instruction.c));
            } else if let Some((upper, at)) =
                before.filter(|(upper, _)| upper.opcode == auipc && upper.a == instruction.b)
            {
                let high = at.wrapping_add(upper.c.as_canonical_u32() << 8);
                let low = instruction.c.as_canonical_u32();
                let sign = if instruction.g == F::ZERO {
                    0
                } else {
                    0xffff_0000
                };
                targets.push(high.wrapping_add(low | sign) & !1);
            }
        }
        before = Some((instruction, pc));
    }
    targets
}

/// `pc` and an operand that may be negative.
fn offset(pc: u32, operand: F) -> u32 {
    let value = operand.as_canonical_u32();
    match value > F::ORDER_U32 / 2 {
        true => pc.wrapping_sub(F::ORDER_U32 - value),
        false => pc.wrapping_add(value),
    }
}

/// One function as it was called by the stack of its parent.
#[derive(Clone, Copy, Debug)]
struct Node {
    parent: u32,
    /// Address of the call in the parent.
    call: u32,
    function: u32,
    /// Slot of the function's first instruction.
    slots: usize,
}

/// No node.
const NONE: u32 = u32::MAX;

/// A frame of the stack.
struct Frame {
    node: u32,
    return_pc: u32,
}

/// Call stacks as a tree, and the stack at the current instruction.
pub(crate) struct CallTree {
    functions: Functions,
    nodes: Vec<Node>,
    children: FxHashMap<(u32, u32, u32), u32>,
    stack: Vec<Frame>,
    /// Range of indices of the function on top, and the slot of index 0, modulo 2^64.
    range: Range<u32>,
    slot_of_zero: usize,
    is_full: bool,
}

impl CallTree {
    /// The tree at the program's first instruction.
    pub fn new(functions: Functions, first: u32, slots: &mut Vec<Cost>) -> Self {
        let mut tree = Self {
            functions,
            nodes: Vec::new(),
            children: FxHashMap::default(),
            stack: Vec::new(),
            range: 0..0,
            slot_of_zero: 0,
            is_full: false,
        };
        let node = tree.child(NONE, NONE, tree.functions.of[first as usize], slots);
        tree.stack.push(Frame {
            node,
            return_pc: NONE,
        });
        tree.enter(node);
        tree
    }

    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// The slot of an instruction of the function on top.
    #[inline(always)]
    pub fn slot(&self, index: u32) -> usize {
        self.slot_of_zero.wrapping_add(index as usize)
    }

    /// An instruction at `pc` went to `next`, whose index is given.
    #[inline(always)]
    pub fn step(&mut self, flow: Flow, pc: u32, next: u32, index: u32, slots: &mut Vec<Cost>) {
        if flow == Flow::Other && self.range.contains(&index) {
            return;
        }
        self.change(flow, pc, next, index, slots);
    }

    fn change(&mut self, flow: Flow, pc: u32, next: u32, index: u32, slots: &mut Vec<Cost>) {
        let function = self.functions.of[index as usize];
        let top = self.stack[self.stack.len() - 1].node;
        if flow == Flow::Call && self.stack.len() >= MAX_DEPTH {
            self.is_full = true;
        } else if flow == Flow::Call {
            let node = self.child(top, pc, function, slots);
            self.stack.push(Frame {
                node,
                return_pc: pc.wrapping_add(DEFAULT_PC_STEP),
            });
            return self.enter(node);
        }
        if flow == Flow::Return {
            let frame = self.stack.iter().rposition(|frame| frame.return_pc == next);
            if let Some(frame) = frame.filter(|&frame| frame > 0) {
                self.stack.truncate(frame);
                self.enter(self.stack[frame - 1].node);
            }
        }
        if !self.range.contains(&index) {
            let frame = self.stack.len() - 1;
            let Node { parent, call, .. } = self.nodes[self.stack[frame].node as usize];
            let node = self.child(parent, call, function, slots);
            self.stack[frame].node = node;
            self.enter(node);
        }
    }

    fn enter(&mut self, node: u32) {
        let node = &self.nodes[node as usize];
        self.range = self.functions.ranges[node.function as usize].clone();
        self.slot_of_zero = node.slots.wrapping_sub(self.range.start as usize);
    }

    fn child(&mut self, parent: u32, call: u32, function: u32, slots: &mut Vec<Cost>) -> u32 {
        if let Some(&node) = self.children.get(&(parent, call, function)) {
            return node;
        }
        let range = &self.functions.ranges[function as usize];
        let length = range.len();
        let is_full = self.nodes.len() >= MAX_NODES || slots.len() + length > MAX_SLOTS;
        if is_full && parent != NONE {
            self.is_full = true;
            return self.child(NONE, NONE, function, slots);
        }
        let node = self.nodes.len() as u32;
        self.nodes.push(Node {
            parent,
            call,
            function,
            slots: slots.len(),
        });
        slots.resize(slots.len() + length, Cost::default());
        self.children.insert((parent, call, function), node);
        node
    }

    /// The stacks with the costs of their instructions, and whether all calls are in them.
    pub fn into_stacks(self, slots: &[Cost]) -> (Vec<Stack>, bool) {
        let stack = |node: &Node| {
            let range = &self.functions.ranges[node.function as usize];
            let costs = range.clone().zip(&slots[node.slots..]);
            Stack {
                parent: (node.parent != NONE).then_some(node.parent as usize),
                call: (node.call != NONE).then_some(node.call),
                function: self.functions.pc(range.start),
                costs: costs
                    .filter(|(_, cost)| **cost != Cost::default())
                    .map(|(index, &cost)| (self.functions.pc(index), cost))
                    .collect(),
            }
        };
        (self.nodes.iter().map(stack).collect(), !self.is_full)
    }
}

/// A call stack: a function, and the stack that called it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack {
    /// Index of the caller's stack, below this one's.
    pub parent: Option<usize>,
    /// Address of the call in the caller. A function that was reached by a tail call has that of the frame that it replaced.
    pub call: Option<u32>,
    /// Address of the function's first instruction.
    pub function: u32,
    /// Costs of the function's own instructions, by address.
    pub costs: Vec<(u32, Cost)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest that calls and never returns does not take all memory of its profiler.
    #[test]
    fn stacks_are_bounded() {
        let functions = Functions {
            base: 0,
            ranges: vec![0..4, 4..6],
            of: vec![0, 0, 0, 0, 1, 1],
        };
        let mut slots = Vec::new();
        let mut tree = CallTree::new(functions, 0, &mut slots);
        for _ in 0..MAX_DEPTH - 1 {
            tree.step(Flow::Call, 0, 0, 0, &mut slots);
        }
        assert!(tree.stack.len() == MAX_DEPTH && !tree.is_full);
        let frame = tree.slot(0);
        // Beyond: a call of the other function takes the place of the frame on top, and its return gives it back.
        tree.step(Flow::Call, 4, 16, 4, &mut slots);
        assert_eq!(tree.range, 4..6);
        tree.step(Flow::Return, 20, 8, 2, &mut slots);
        assert_eq!((tree.slot(0), tree.stack.len()), (frame, MAX_DEPTH));
        let (_, is_complete) = tree.into_stacks(&slots);
        assert!(!is_complete);
    }
}
