//! Programs of one counted loop: instructions before it, its body, instructions behind it.

use std::collections::BTreeSet;
use std::ops::Range;

use super::access::{independent, unrelated};
use super::accumulate::{self, Accumulator};
use super::line::Line;
use super::walk::{walk, Lines, Setting, Walk};
use super::MIN_REPETITIONS;
use crate::backend::launch::{ExecutionParams, DEFAULT_STEP_BUDGET};
use crate::isa::{Instruction, Predicate, Register, Ty};
use crate::program::Program;

/// Most instructions of a program: more are no loop that somebody wrote.
const MAX_LENGTH: usize = 4096;
/// Most iterations: each may become a lane.
const MAX_ITERATIONS: u64 = 1 << 31;

/// Parts of a program.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Before the loop.
    pub before: Range<usize>,
    /// The body without the `loop` at its end.
    pub body: Range<usize>,
    /// Behind the loop, without an `exit` at the end.
    pub behind: Range<usize>,
    /// Register that counts down.
    pub counter: Register,
}

/// A loop of known length whose iterations access known places of memory, each its own.
pub struct Counted<'a> {
    /// The program.
    pub program: &'a Program,
    /// The launch.
    pub params: &'a ExecutionParams,
    /// The parts.
    pub parts: Parts,
    /// Times that the body runs.
    pub count: u64,
    /// Registers that move by a fixed step each time and are read again, the counter first.
    pub inductions: Vec<(Register, Line)>,
    /// Registers that collect a value.
    pub accumulators: Vec<Accumulator>,
    /// Instructions before the loop.
    pub before: Walk,
    /// Instructions of each iteration.
    pub each: Walk,
    /// Instructions after the loop.
    pub behind: Walk,
    /// Registers that the body may write.
    pub changed: BTreeSet<Register>,
    /// Predicates that the body may write.
    pub changed_predicates: BTreeSet<Predicate>,
}

/// The parts of a program with exactly one `loop`, which jumps back.
pub fn find(program: &Program) -> Option<Parts> {
    let all = program.instructions();
    if all.len() > MAX_LENGTH {
        return None;
    }
    let is_loop = |i: &Instruction| matches!(i, Instruction::Loop { .. });
    let at = all.iter().position(is_loop)?;
    let Instruction::Loop { count, body } = &all[at] else {
        return None;
    };
    let start = program.resolve_label(body.name())?;
    let end = all.len() - usize::from(matches!(all.last(), Some(Instruction::Exit {})));
    if all[at + 1..].iter().any(is_loop) || start >= at {
        return None;
    }
    Some(Parts {
        before: 0..start,
        body: start..at,
        behind: at + 1..end,
        counter: *count,
    })
}

/// Analysis of a loop, if it suffices for many lanes.
pub fn analyse<'a>(
    program: &'a Program,
    parts: &Parts,
    params: &'a ExecutionParams,
    size_of: &dyn Fn(u64) -> Option<usize>,
) -> Option<Counted<'a>> {
    if uses_special(program, params) {
        return None;
    }
    let once = Setting { count: 1, size_of };
    let before = walk(program, parts.before.clone(), initial(params), &once)?;
    let counter = *before.end.lines.get(&parts.counter)?;
    let count = counter.bits().filter(|_| counter.ty == Ty::U32)? + 1;
    let body = &program.instructions()[parts.body.clone()];
    let steps =
        parts.before.len() as u64 + (body.len() as u64 + 1) * count + parts.behind.len() as u64 + 1;
    let changed: BTreeSet<_> = body.iter().filter_map(|i| i.def()).map(|d| d.0).collect();
    let budget = params.step_budget.unwrap_or(DEFAULT_STEP_BUDGET);
    let worth = (MIN_REPETITIONS as u64..MAX_ITERATIONS).contains(&count);
    let quiet = before.safe && before.accesses.iter().all(|access| !access.store);
    if !worth || !quiet || steps > budget || changed.contains(&parts.counter) {
        return None;
    }
    let mut kept = before.end.lines.clone();
    kept.retain(|register, _| !changed.contains(register));
    kept.insert(parts.counter, Line::new(Ty::U32, counter.start, u64::MAX));
    let many = Setting { count, size_of };
    let (moving, each) = moving(program, parts, &before.end.lines, &kept, &changed, &many)?;
    let changed_predicates: BTreeSet<_> = body.iter().filter_map(|i| i.predicate_def()).collect();
    let carried = each.exposed_predicates.intersection(&changed_predicates);
    let own = [(&each.accesses[..], count), (&before.accesses[..], 1)];
    if carried.count() > 0
        || !each.safe
        || !independent(&each.accesses, count)
        || !unrelated(own[0], own[1])
    {
        return None;
    }
    let mut accumulators = Vec::new();
    for &register in each.exposed.intersection(&changed) {
        if !moving.contains_key(&register) {
            let found = accumulate::find(body, register, params.allow_reassociation)?;
            accumulators.push(found);
        }
    }
    let mut last: Lines = each.end.lines.clone();
    last.values_mut()
        .for_each(|line| *line = line.at(count - 1));
    last.insert(parts.counter, Line::constant(Ty::U32, 0));
    let behind = walk(program, parts.behind.clone(), last, &once)?;
    if !behind.safe {
        return None;
    }
    let mut inductions = vec![(parts.counter, kept[&parts.counter])];
    let read = |r: &Register| each.exposed.contains(r) || behind.exposed.contains(r);
    inductions.extend(moving.into_iter().filter(|(register, _)| read(register)));
    Some(Counted {
        program,
        params,
        parts: parts.clone(),
        count,
        inductions,
        accumulators,
        before,
        each,
        behind,
        changed,
        changed_predicates,
    })
}

impl Counted<'_> {
    /// The register moves by a fixed step each time.
    pub fn is_induction(&self, register: Register) -> bool {
        self.inductions.iter().any(|&(r, _)| r == register)
    }
}

/// Registers that move by a fixed step each time, and what an iteration does. The steps are those of the first
/// iteration; those that do not hold for all of them are dropped until the rest does.
fn moving(
    program: &Program,
    parts: &Parts,
    start: &Lines,
    kept: &Lines,
    changed: &BTreeSet<Register>,
    setting: &Setting<'_>,
) -> Option<(Lines, Walk)> {
    let run = |moving: &Lines| {
        let mut entry = kept.clone();
        entry.extend(moving);
        walk(program, parts.body.clone(), entry, setting)
    };
    let mut moving = start.clone();
    moving.retain(|register, _| changed.contains(register));
    let first = run(&moving)?.end.lines;
    moving.retain(|register, line| match first.get(register) {
        Some(next) if next.ty == line.ty => {
            line.step = next.start.wrapping_sub(line.start) & line.ty.mask();
            true
        }
        _ => false,
    });
    loop {
        let each = run(&moving)?;
        let count = moving.len();
        moving.retain(|register, line| {
            let next = Line::new(line.ty, line.start.wrapping_add(line.step), line.step);
            each.end.lines.get(register) == Some(&next)
        });
        if moving.len() == count {
            return Some((moving, each));
        }
    }
}

/// Integers that registers begin with.
fn initial(params: &ExecutionParams) -> Lines {
    let mut lines = Lines::new();
    for &(register, ty, bits) in &params.initial_registers {
        lines.remove(&register);
        if ty.is_int() {
            lines.insert(register, Line::constant(ty, bits));
        }
    }
    lines
}

/// Registers that differ between lanes are used, or replaced.
fn uses_special(program: &Program, params: &ExecutionParams) -> bool {
    let special = |register: Register| register >= Register::LANE_X;
    let mut found = params.initial_registers.iter().any(|r| special(r.0));
    for instruction in program.instructions() {
        instruction.for_each_use(|register, _| found |= special(register));
        found |= instruction.def().is_some_and(|(r, _)| special(r));
    }
    found
}
