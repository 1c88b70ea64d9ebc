//! Unrolled programs of one lane as programs of many lanes.
//!
//! A program that repeats a group of instructions, in which only the byte offsets of fixed addresses change and
//! by the same amount each time, runs with one lane for each repetition, if no repetition reads what another
//! computes. Nothing else can be observed: all accesses are known to lie inside their buffers.

use std::collections::BTreeSet;

use super::access::{has_one_name, independent, Access};
use super::{BLOCK, MIN_REPETITIONS};
use crate::backend::launch::{ExecutionParams, LaunchConfig, DEFAULT_STEP_BUDGET};
use crate::isa::{Address, Condition, Instruction, Label, Predicate, Register, Ty};
use crate::program::Program;
use crate::translate::value::expression;

/// Most instructions of a group.
const MAX_GROUP: usize = 64;
/// The same work in many lanes; `size_of` gives the bytes of a buffer. `None` where it does not apply.
///
/// The program must be valid. Cost: linear in its length.
pub fn rewrite(
    program: &Program,
    params: &ExecutionParams,
    size_of: impl Fn(u64) -> Option<usize>,
) -> Option<(Program, ExecutionParams)> {
    let mut all = program.instructions();
    if let [rest @ .., Instruction::Exit {}] = all {
        all = rest;
    }
    let budget = params.step_budget.unwrap_or(DEFAULT_STEP_BUDGET);
    if all.len() < MIN_REPETITIONS || budget < program.len() as u64 {
        return None;
    }
    let period = period(all)?;
    let group = &all[..period];
    let count = all.len() / period;
    let initial: BTreeSet<Register> = params.initial_registers.iter().map(|r| r.0).collect();
    if !self_contained(group, &initial) {
        return None;
    }
    let mut accesses = Vec::new();
    for (place, instruction) in group.iter().enumerate() {
        let Some((handle, start, size, store)) = fixed(instruction) else {
            continue;
        };
        let at = |g: usize| fixed(&all[g * period + place]).map(|(_, at, _, _)| at);
        let step = at(1)? - start;
        for g in 2..count {
            if at(g)? != start + step * g as i128 {
                return None;
            }
        }
        let access = Access {
            handle,
            start,
            step,
            size,
            store,
        };
        if !access.inside(count as u64, size_of(handle)) {
            return None;
        }
        accesses.push(access);
    }
    if !independent(&accesses, count as u64) {
        return None;
    }
    let program = lanes_of(group, &accesses, count, &initial)?;
    let launch = LaunchConfig::linear(count as u64, BLOCK.min(count as u32));
    let params = ExecutionParams {
        launch,
        step_budget: None,
        ..params.clone()
    };
    Some((program, params))
}

/// Handle, offset, bytes and whether it stores, of an access to a fixed place of a buffer that has no other name.
fn fixed(instruction: &Instruction) -> Option<(u64, i128, i128, bool)> {
    let (ty, addr, store) = match *instruction {
        Instruction::Ldg { ty, addr, .. } => (ty, addr, false),
        Instruction::Stg { ty, addr, .. } => (ty, addr, true),
        _ => return None,
    };
    let Address::BufferOffset { handle, offset } = addr else {
        return None;
    };
    has_one_name(handle).then_some((handle, offset as i128, ty.size() as i128, store))
}

/// Cannot fault nor jump, and has no state but registers.
fn simple(instruction: &Instruction) -> bool {
    match instruction {
        Instruction::Ldg { .. } | Instruction::Stg { .. } => fixed(instruction).is_some(),
        Instruction::MovImm { .. } => true,
        Instruction::Div { ty, .. } => ty.is_float(),
        other => expression(other).is_some(),
    }
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
    a == b || without(a) == without(b)
}

/// Instructions of the group that the whole program repeats.
fn period(all: &[Instruction]) -> Option<usize> {
    if !all.iter().all(simple) {
        return None;
    }
    let most = MAX_GROUP.min(all.len() / MIN_REPETITIONS);
    (1..=most).find(|&period| {
        all.len().is_multiple_of(period)
            && all
                .iter()
                .zip(&all[period..])
                .all(|(first, again)| alike(first, again))
    })
}

/// Reads nothing but what it wrote before, and initial registers that it does not write.
fn self_contained(group: &[Instruction], initial: &BTreeSet<Register>) -> bool {
    let written: BTreeSet<Register> = group.iter().filter_map(|i| i.def()).map(|d| d.0).collect();
    let mut known: BTreeSet<Register> = initial.difference(&written).copied().collect();
    let mut predicates = BTreeSet::new();
    for instruction in group {
        let mut fine = true;
        instruction.for_each_use(|register, _| fine &= known.contains(&register));
        fine &= instruction
            .predicate_use()
            .is_none_or(|p| predicates.contains(&p));
        if !fine {
            return false;
        }
        known.extend(instruction.def().map(|d| d.0));
        predicates.extend(instruction.predicate_def());
    }
    true
}

/// The group with offsets that depend on the lane.
fn lanes_of(
    group: &[Instruction],
    accesses: &[Access],
    count: usize,
    initial: &BTreeSet<Register>,
) -> Option<Program> {
    let mut used = initial.clone();
    let mut predicates = BTreeSet::new();
    for instruction in group {
        instruction.for_each_use(|register, _| {
            used.insert(register);
        });
        used.extend(instruction.def().map(|d| d.0));
        predicates.extend(instruction.predicate_def());
    }
    if used.contains(&Register::GLOBAL_LANE) {
        return None;
    }
    let mut free = (0..252).map(Register::new).filter(|r| !used.contains(r));
    let guard = (0..16)
        .filter_map(|i| Predicate::new(i).ok())
        .find(|p| !predicates.contains(p))?;
    let (offset, handle) = (free.next()?, free.next()?);
    let lane = Register::GLOBAL_LANE;
    let ty = Ty::U64;
    let set = |dst, value: u64| Instruction::MovImm { ty, dst, value };
    let mut out = Program::new();
    let end = Label::new("end").ok()?;
    out.push(set(offset, count as u64));
    out.push(Instruction::SetCc {
        cond: Condition::Ge,
        ty,
        dst: guard,
        src1: lane,
        src2: offset,
    });
    out.push(Instruction::Bra {
        target: end.clone(),
        pred: Some(guard),
    });
    // The lane times each step.
    let mut steps: Vec<(i128, Register)> = Vec::new();
    for access in accesses {
        if steps.iter().all(|(step, _)| *step != access.step) {
            let register = free.next()?;
            out.push(set(register, access.step as u64));
            out.push(Instruction::Mul {
                ty,
                dst: register,
                src1: lane,
                src2: register,
            });
            steps.push((access.step, register));
        }
    }
    let mut accesses = accesses.iter();
    for instruction in group {
        if fixed(instruction).is_none() {
            out.push(instruction.clone());
            continue;
        }
        let access = accesses.next()?;
        let &(_, step) = steps.iter().find(|(step, _)| *step == access.step)?;
        out.push(set(offset, access.start as u64));
        out.push(Instruction::Add {
            ty,
            dst: offset,
            src1: offset,
            src2: step,
        });
        out.push(set(handle, access.handle));
        let addr = Address::RegisterIndirectComputed {
            handle_reg: handle,
            offset_reg: offset,
        };
        out.push(match *instruction {
            Instruction::Ldg { ty, dst, .. } => Instruction::Ldg { ty, dst, addr },
            Instruction::Stg { ty, src, .. } => Instruction::Stg { ty, src, addr },
            _ => return None,
        });
    }
    out.bind_label(end, out.len()).ok()?;
    Some(out)
}
