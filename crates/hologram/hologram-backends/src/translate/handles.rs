//! Registers that hold a known buffer handle: constants carried forward over the graph.

use super::graph::Graph;
use super::plan::Source;
use crate::isa::{Instruction, Register, Ty};
use crate::program::Program;

/// Knowledge about a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    From(Source),
    Varying,
}

/// Source of the handle register of each memory instruction, where it is one constant.
pub fn sources(
    program: &Program,
    graph: &Graph,
    initial: &[(Register, Ty)],
) -> Vec<Option<Source>> {
    let instructions = program.instructions();
    let mut found = vec![None; instructions.len()];
    let wanted = instructions.iter().any(|i| handle_register(i).is_some());
    if !wanted || graph.blocks.is_empty() {
        return found;
    }
    let mut entry: Vec<Option<Vec<Known>>> = vec![None; graph.blocks.len()];
    let mut first = vec![Known::Varying; 256];
    for &(register, ty) in initial {
        if ty == Ty::U64 {
            first[register.index() as usize] = Known::From(Source::Initial(register));
        }
    }
    entry[0] = Some(first);
    // A return may go behind any call: what a called part leaves is not followed.
    let returns: Vec<usize> = (0..graph.blocks.len())
        .filter(|&b| matches!(graph.blocks[b].flow, super::graph::Flow::Call(_)))
        .filter_map(|b| graph.blocks[b].next)
        .collect();
    for b in returns {
        entry[b] = Some(vec![Known::Varying; 256]);
    }
    let mut work: Vec<usize> = (0..graph.blocks.len()).rev().collect();
    while let Some(b) = work.pop() {
        let Some(mut state) = entry[b].clone() else {
            continue;
        };
        let range = graph.blocks[b].start..graph.blocks[b].end;
        for (pc, instruction) in range.clone().zip(&instructions[range]) {
            step(instruction, pc, &mut state);
        }
        for s in graph.successors(b).collect::<Vec<_>>() {
            let changed = match &mut entry[s] {
                Some(known) => join(known, &state),
                none => {
                    *none = Some(state.clone());
                    true
                }
            };
            if changed {
                work.push(s);
            }
        }
    }
    for (b, block) in graph.blocks.iter().enumerate() {
        let Some(mut state) = entry[b].clone() else {
            continue;
        };
        for pc in block.start..block.end {
            if let Some(register) = handle_register(&instructions[pc]) {
                if let Known::From(source) = state[register.index() as usize] {
                    found[pc] = Some(source);
                }
            }
            step(&instructions[pc], pc, &mut state);
        }
    }
    found
}

fn handle_register(instruction: &Instruction) -> Option<Register> {
    use crate::isa::Address::{RegisterIndirect, RegisterIndirectComputed};
    let (Instruction::Ldg { addr, .. } | Instruction::Stg { addr, .. }) = instruction else {
        return None;
    };
    match *addr {
        RegisterIndirect { base, .. } => Some(base),
        RegisterIndirectComputed { handle_reg, .. } => Some(handle_reg),
        _ => None,
    }
}

fn step(instruction: &Instruction, pc: usize, state: &mut [Known]) {
    let Some((dst, _)) = instruction.def() else {
        return;
    };
    state[dst.index() as usize] = match *instruction {
        Instruction::MovImm { ty: Ty::U64, .. } => Known::From(Source::Immediate(pc)),
        Instruction::Mov { src, .. } => state[src.index() as usize],
        _ => Known::Varying,
    };
}

fn join(into: &mut [Known], from: &[Known]) -> bool {
    let mut changed = false;
    for (a, &b) in into.iter_mut().zip(from) {
        let joined = if *a == b { b } else { Known::Varying };
        changed |= joined != *a;
        *a = joined;
    }
    changed
}
