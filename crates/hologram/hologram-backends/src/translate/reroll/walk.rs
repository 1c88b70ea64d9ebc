//! One way through a stretch of a program, for all iterations at once: what registers hold, which are read
//! before they are written, where memory is accessed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::access::{has_one_name, Access};
use super::line::{value, Line};
use crate::isa::{Address, Instruction, Predicate, Register, Ty};
use crate::program::Program;
use crate::translate::value::is_computed;

/// Integers that are known, by register.
pub type Lines = BTreeMap<Register, Line>;

/// Facts at a place.
#[derive(Clone, Debug)]
pub struct State {
    /// Registers that hold lines.
    pub lines: Lines,
    /// Registers that were written on every path.
    pub written: BTreeSet<Register>,
    /// Predicates that were written on every path.
    pub predicates: BTreeSet<Predicate>,
}

/// Effects of a stretch of instructions.
#[derive(Clone, Debug)]
pub struct Walk {
    /// Facts at its end.
    pub end: State,
    /// Registers that are read and may not have been written in it before.
    pub exposed: BTreeSet<Register>,
    /// Such predicates.
    pub exposed_predicates: BTreeSet<Predicate>,
    /// Accesses to known places, not outside of buffers.
    pub accesses: Vec<Access>,
    /// No other accesses, and no divisors that may be 0: it cannot fault.
    pub safe: bool,
}

/// Number of runs of the stretch, and sizes of buffers.
pub struct Setting<'a> {
    /// Iterations.
    pub count: u64,
    /// Bytes of a buffer.
    pub size_of: &'a dyn Fn(u64) -> Option<usize>,
}

/// Follows a stretch whose jumps all lead forward within it or to its end; `None` for other stretches, and for
/// instructions that have state beyond registers and buffers.
pub fn walk(
    program: &Program,
    range: Range<usize>,
    lines: Lines,
    setting: &Setting<'_>,
) -> Option<Walk> {
    let mut walk = Walk {
        end: State {
            lines: Lines::new(),
            written: BTreeSet::new(),
            predicates: BTreeSet::new(),
        },
        exposed: BTreeSet::new(),
        exposed_predicates: BTreeSet::new(),
        accesses: Vec::new(),
        safe: true,
    };
    let mut current = Some(State {
        lines,
        ..walk.end.clone()
    });
    let mut waiting: BTreeMap<usize, State> = BTreeMap::new();
    for pc in range.clone() {
        if let Some(state) = waiting.remove(&pc) {
            current = Some(meet(current, state));
        }
        let Some(state) = &mut current else { continue };
        let instruction = program.instructions().get(pc)?;
        instruction.for_each_use(|register, _| {
            if !state.written.contains(&register) {
                walk.exposed.insert(register);
            }
        });
        walk.exposed_predicates.extend(
            instruction
                .predicate_use()
                .filter(|p| !state.predicates.contains(p)),
        );
        if let Instruction::Bra { target, pred } = instruction {
            let to = program.resolve_label(target.name())?;
            if to <= pc || to > range.end {
                return None;
            }
            let there = waiting.remove(&to);
            waiting.insert(to, meet(there, state.clone()));
            if pred.is_none() {
                current = None;
            }
            continue;
        }
        walk.safe &= step(instruction, state, setting, &mut walk.accesses)?;
    }
    let state = waiting.remove(&range.end);
    walk.end = match state {
        Some(state) => meet(current, state),
        None => current?,
    };
    Some(walk)
}

/// Facts that hold after either.
fn meet(a: Option<State>, b: State) -> State {
    let Some(mut a) = a else { return b };
    a.lines.retain(|r, line| b.lines.get(r) == Some(line));
    a.written.retain(|r| b.written.contains(r));
    a.predicates.retain(|p| b.predicates.contains(p));
    a
}

/// One instruction that is no jump; whether it certainly does not fault.
fn step(
    instruction: &Instruction,
    state: &mut State,
    setting: &Setting<'_>,
    accesses: &mut Vec<Access>,
) -> Option<bool> {
    let held = |register: Register| state.lines.get(&register).copied();
    let safe = match *instruction {
        Instruction::Ldg { .. } | Instruction::Stg { .. } => {
            match access(instruction, held, setting) {
                Some(access) => {
                    accesses.push(access);
                    true
                }
                None => false,
            }
        }
        Instruction::MovImm { .. } => true,
        Instruction::Div { ty, src2, .. } if ty.is_int() => {
            held(src2).is_some_and(|line| line.ty == ty && line.bits().is_some_and(|b| b != 0))
        }
        ref other => {
            if !is_computed(other) {
                return None;
            }
            true
        }
    };
    let new = value(instruction, held, setting.count);
    if let Some((register, _)) = instruction.def() {
        state.written.insert(register);
        match new {
            Some(line) => state.lines.insert(register, line),
            None => state.lines.remove(&register),
        };
    }
    state.predicates.extend(instruction.predicate_def());
    Some(safe)
}

/// The access of a load or store, if it is known and lies inside its buffer each time.
fn access(
    instruction: &Instruction,
    held: impl Fn(Register) -> Option<Line>,
    setting: &Setting<'_>,
) -> Option<Access> {
    let (ty, addr, store) = match *instruction {
        Instruction::Ldg { ty, addr, .. } => (ty, addr, false),
        Instruction::Stg { ty, addr, .. } => (ty, addr, true),
        _ => return None,
    };
    let line = |register| held(register).filter(|line| line.ty == Ty::U64);
    let (handle, (start, step)) = match addr {
        Address::BufferOffset { handle, offset } => (handle, (offset as i128, 0)),
        Address::RegisterIndirect { base, offset } => (line(base)?.bits()?, (offset.into(), 0)),
        Address::RegisterIndirectComputed {
            handle_reg,
            offset_reg,
        } => (
            line(handle_reg)?.bits()?,
            line(offset_reg)?.exact(setting.count)?,
        ),
        Address::PhiCoordinate { .. } => return None,
    };
    let access = Access {
        handle,
        start,
        step,
        size: ty.size() as i128,
        store,
    };
    let inside = has_one_name(handle) && access.inside(setting.count, (setting.size_of)(handle));
    inside.then_some(access)
}
