//! Unrolled programs as loops.
//!
//! Many programs repeat a group of instructions in which only the byte offsets of fixed addresses change, by the
//! same amount each time: they are written as a loop over registers with these offsets.

use super::access::has_one_name;
use super::code::Code;
use super::MIN_REPETITIONS;
use crate::backend::launch::ExecutionParams;
use crate::isa::{Address, Instruction, Register, Ty};
use crate::program::Program;

/// Most instructions of a group.
const MAX_GROUP: usize = 64;
/// Most instructions before the first group.
const MAX_BEFORE: usize = 32;
/// Most instructions behind the last one.
const MAX_BEHIND: usize = 128;

/// Places of the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Groups {
    start: usize,
    period: usize,
    count: usize,
}

/// The program as a loop, with registers preset for it; `None` if it does not repeat itself. Cost: linear in its length.
pub fn roll(program: &Program, params: &ExecutionParams) -> Option<(Program, ExecutionParams)> {
    let mut all = program.instructions();
    if let [rest @ .., Instruction::Exit {}] = all {
        all = rest;
    }
    let budget = params.step_budget.unwrap_or(u64::MAX);
    if budget < program.len() as u64 || all.iter().any(Instruction::is_control_flow) {
        return None;
    }
    let groups = find(all)?;
    let end = groups.start + groups.period * groups.count;
    let mut code = Code::new(program, params)?;
    let counter = code.preset(Ty::U32, groups.count as u64 - 1)?;
    let mut shared = Shared::default();
    code.copy(0..groups.start)?;
    let body = code.label()?;
    code.bind(&body)?;
    for place in groups.start..groups.start + groups.period {
        let step = step(all, place, &groups)?;
        let instruction = &all[place];
        match fixed(instruction) {
            Some((handle, offset)) if step != 0 => {
                let handle_reg = shared.constant(&mut code, handle)?;
                let offset_reg = shared.moving(&mut code, offset, step)?;
                let addr = Address::RegisterIndirectComputed {
                    handle_reg,
                    offset_reg,
                };
                code.push(match *instruction {
                    Instruction::Ldg { ty, dst, .. } => Instruction::Ldg { ty, dst, addr },
                    Instruction::Stg { ty, src, .. } => Instruction::Stg { ty, src, addr },
                    _ => return None,
                });
            }
            _ => code.push(instruction.clone()),
        }
    }
    for (_, step, register) in shared.moving.clone() {
        let by = shared.constant(&mut code, step)?;
        code.add(Ty::U64, register, register, by);
    }
    code.push(Instruction::Loop {
        count: counter,
        body,
    });
    code.copy(end..all.len())?;
    Some(code.finish(params, params.launch))
}

/// Registers of the loop that several places use.
#[derive(Default)]
struct Shared {
    constants: Vec<(u64, Register)>,
    /// Start, step, register.
    moving: Vec<(u64, u64, Register)>,
}

impl Shared {
    fn constant(&mut self, code: &mut Code<'_>, value: u64) -> Option<Register> {
        if let Some((_, register)) = self.constants.iter().find(|(v, _)| *v == value) {
            return Some(*register);
        }
        let register = code.preset(Ty::U64, value)?;
        self.constants.push((value, register));
        Some(register)
    }

    fn moving(&mut self, code: &mut Code<'_>, start: u64, step: u64) -> Option<Register> {
        let known = self
            .moving
            .iter()
            .find(|(a, b, _)| (*a, *b) == (start, step));
        if let Some((_, _, register)) = known {
            return Some(*register);
        }
        let register = code.preset(Ty::U64, start)?;
        self.moving.push((start, step, register));
        Some(register)
    }
}

/// Handle and offset of an access to a fixed place of a buffer.
fn fixed(instruction: &Instruction) -> Option<(u64, u64)> {
    let (Instruction::Ldg { addr, .. } | Instruction::Stg { addr, .. }) = *instruction else {
        return None;
    };
    match addr {
        Address::BufferOffset { handle, offset } if has_one_name(handle) => {
            Some((handle, offset as u64))
        }
        _ => None,
    }
}

/// Step of the offset at a place of the first group; 0 for other instructions, `None` if not
/// always as far.
fn step(all: &[Instruction], place: usize, groups: &Groups) -> Option<u64> {
    let at = |g: usize| fixed(&all[place + g * groups.period]).map(|(_, offset)| offset);
    let Some(start) = at(0) else { return Some(0) };
    let step = at(1)?.wrapping_sub(start);
    let same = |g: usize| at(g) == Some(start.wrapping_add(step.wrapping_mul(g as u64)));
    (2..groups.count).all(same).then_some(step)
}

/// Equal but for the offset of a fixed address.
fn alike(a: &Instruction, b: &Instruction) -> bool {
    let without = |instruction: &Instruction| {
        let mut copy = instruction.clone();
        if let Instruction::Ldg {
            addr: Address::BufferOffset { offset, .. },
            ..
        }
        | Instruction::Stg {
            addr: Address::BufferOffset { offset, .. },
            ..
        } = &mut copy
        {
            *offset = 0;
        }
        copy
    };
    a.opcode() == b.opcode() && (a == b || without(a) == without(b))
}

/// The groups that make up the program but for its ends: the earliest, of these the shortest.
fn find(all: &[Instruction]) -> Option<Groups> {
    // Programs that nearly repeat themselves in many ways are given up.
    let mut work = 4 * all.len() + 2 * MAX_GROUP * MAX_BEFORE;
    for start in 0..=MAX_BEFORE.min(all.len()) {
        let rest = &all[start..];
        for period in 1..=MAX_GROUP.min(rest.len() / MIN_REPETITIONS) {
            let mut pairs = rest.iter().zip(&rest[period..]);
            let repeated = pairs.position(|(a, b)| !alike(a, b));
            let covered = period + repeated.unwrap_or(rest.len() - period);
            let count = covered / period;
            if count >= MIN_REPETITIONS && rest.len() - count * period <= MAX_BEHIND {
                return Some(Groups {
                    start,
                    period,
                    count,
                });
            }
            work = work.checked_sub(covered)?;
        }
    }
    None
}
