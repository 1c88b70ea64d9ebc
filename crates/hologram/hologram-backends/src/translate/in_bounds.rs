//! Launches of many lanes whose accesses all lie inside their buffers: the kernel tests none, so compilers make vector code of it.
//!
//! The lanes have to be alike: the place of an access moves by a fixed step from lane to lane, and jumps lead forward. The test
//! whether a lane is past the end, with which such programs begin, becomes the number of lanes.

use std::collections::BTreeSet;
use std::ops::Range;

use super::reroll::code::Code;
use super::reroll::line::Line;
use super::reroll::walk::{walk, Lines, Setting};
use crate::backend::launch::{
    Dim3, ExecutionParams, LaunchConfig, DEFAULT_STEP_BUDGET, MAX_BLOCKS,
};
use crate::isa::{Address, Condition, Instruction, Predicate, Register, Ty};
use crate::program::Program;

/// Fewer lanes are not worth a kernel of their own.
const MIN_LANES: u64 = 256;
/// More instructions are no elementwise operation.
const MAX_LENGTH: usize = 4096;
/// Presets up to this stand in the text, where a step has to be known to the compiler.
const LITERAL: u64 = 64;

/// The program of the lanes that work, and a launch of just these; the bounds of its accesses need not be tested. `None` of
/// other programs. `size_of` gives the bytes of a buffer.
///
/// Of a program that is not valid the result is not defined. Cost: linear in the program's length.
pub fn in_bounds(
    program: &Program,
    params: &ExecutionParams,
    size_of: impl Fn(u64) -> Option<usize>,
) -> Option<(Program, ExecutionParams)> {
    let all = program.instructions();
    let lanes = params
        .launch
        .grid
        .count()?
        .checked_mul(params.launch.block.count()?)?;
    let budget = params.step_budget.unwrap_or(DEFAULT_STEP_BUDGET);
    if all.len() > MAX_LENGTH || budget < all.len() as u64 || !uses_only_the_lane(program, params) {
        return None;
    }
    let mut lines = Lines::new();
    for &(register, ty, bits) in &params.initial_registers {
        lines.remove(&register);
        if ty.is_int() {
            lines.insert(register, Line::constant(ty, bits));
        }
    }
    let is_constant = |i: &&Instruction| matches!(i, Instruction::MovImm { .. });
    let head = all.iter().take_while(is_constant).count();
    for instruction in &all[..head] {
        if let Instruction::MovImm { ty, dst, value } = *instruction {
            lines.remove(&dst);
            if ty.is_int() {
                lines.insert(dst, Line::constant(ty, value));
            }
        }
    }
    let guard = guard(program, head, &lines);
    let count = guard.as_ref().map_or(lanes, |guard| guard.count.min(lanes));
    if !(MIN_LANES..=MAX_BLOCKS).contains(&count) {
        return None;
    }
    let end = all.len() - usize::from(matches!(all.last(), Some(Instruction::Exit {})));
    let body = guard.as_ref().map_or(head, |guard| guard.body)..end;
    if body.start >= body.end {
        return None;
    }
    lines.insert(Register::GLOBAL_LANE, Line::new(Ty::U64, 0, 1));
    let size_of = &size_of;
    let each = walk(program, body.clone(), lines, &Setting { count, size_of })?;
    if !each.safe || each.accesses.is_empty() || !each.exposed_predicates.is_empty() {
        return None;
    }
    rewrite(program, params, head, body, count)
}

/// True if the program reads only the lane's special register, and all keep their values.
fn uses_only_the_lane(program: &Program, params: &ExecutionParams) -> bool {
    let special = |register: Register| register >= Register::LANE_X;
    let mut fine = !params.initial_registers.iter().any(|r| special(r.0));
    for instruction in program.instructions() {
        instruction.for_each_use(|r, _| fine &= !special(r) || r == Register::GLOBAL_LANE);
        fine &= !instruction.def().is_some_and(|(r, _)| special(r));
    }
    fine
}

/// Guard by which lanes from a number on end at once.
struct Guard {
    /// The number.
    count: u64,
    /// First instruction behind it.
    body: usize,
}

/// The guard at `at`: `set` of the lane's number and a constant, then a jump over everything, or over an `exit`.
fn guard(program: &Program, at: usize, lines: &Lines) -> Option<Guard> {
    let all = program.instructions();
    let [Instruction::SetCc {
        cond,
        ty: Ty::U64,
        dst,
        src1: Register::GLOBAL_LANE,
        src2,
    }, Instruction::Bra {
        target,
        pred: Some(pred),
    }, rest @ ..] = all.get(at..)?
    else {
        return None;
    };
    let line = lines.get(src2).filter(|line| line.ty == Ty::U64)?;
    let (count, to) = (line.bits()?, program.resolve_label(target.name())?);
    let is_exit = |at: usize| matches!(all.get(at), Some(Instruction::Exit {}));
    let same: &Predicate = dst;
    let (over, behind) = match cond {
        Condition::Ge | Condition::Geu => (
            to == all.len() || (to + 1 == all.len() && is_exit(to)),
            at + 2,
        ),
        Condition::Lt | Condition::Ltu => (
            to == at + 3 && matches!(rest.first(), Some(Instruction::Exit {})),
            at + 3,
        ),
        _ => return None,
    };
    (pred == same && over).then_some(Guard {
        count,
        body: behind,
    })
}

/// The constants and the body, launched for just so many lanes.
fn rewrite(
    program: &Program,
    params: &ExecutionParams,
    head: usize,
    body: Range<usize>,
    count: u64,
) -> Option<(Program, ExecutionParams)> {
    let handles = handles(program);
    let mut code = Code::new(program, params)?;
    let mut kept = params.clone();
    kept.initial_registers.clear();
    for (index, &(register, ty, bits)) in params.initial_registers.iter().enumerate() {
        // Of a register named twice the last counts.
        let later = &params.initial_registers[index + 1..];
        if later.iter().any(|&(r, ..)| r == register) {
            continue;
        }
        let value = bits & ty.mask();
        if ty.is_int() && value <= LITERAL && !handles.contains(&register) {
            code.push(Instruction::MovImm {
                ty,
                dst: register,
                value,
            });
        } else {
            kept.initial_registers.push((register, ty, bits));
        }
    }
    code.copy(0..head)?;
    code.copy(body)?;
    // Kernels without blocks are cut into threadgroups as the device likes.
    let launch = LaunchConfig::new(Dim3::linear(u32::try_from(count).ok()?), Dim3::linear(1));
    Some(code.finish(&kept, launch))
}

/// Registers that may hold the handle of an access.
fn handles(program: &Program) -> BTreeSet<Register> {
    let mut found = BTreeSet::new();
    for instruction in program.instructions() {
        match *instruction {
            Instruction::Ldg { addr, .. } | Instruction::Stg { addr, .. } => match addr {
                Address::RegisterIndirect { base, .. } => {
                    found.insert(base);
                }
                Address::RegisterIndirectComputed { handle_reg, .. } => {
                    found.insert(handle_reg);
                }
                _ => {}
            },
            Instruction::Mov { src, .. } => {
                found.insert(src);
            }
            _ => {}
        }
    }
    found
}
