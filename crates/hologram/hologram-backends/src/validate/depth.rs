//! Routines, who calls whom, and how deep calls nest.

use std::collections::BTreeMap;

use super::cfg::{ControlFlow, Terminator};
use crate::backend::launch::MAX_CALL_DEPTH;
use crate::error::validation::{at, ValidationError, ValidationErrorKind};
use crate::program::Program;

/// Most pairs of a routine and a block of it.
const MAX_PAIRS: usize = 1 << 22;

/// A routine's calls as (callee's block, pc).
pub(super) struct Routine {
    calls: Vec<(usize, usize)>,
}

/// The routines: of block 0, and of every block that a reached call names.
pub(super) fn routines(
    program: &Program,
    cfg: &ControlFlow,
) -> Result<BTreeMap<usize, Routine>, ValidationError> {
    let mut found = BTreeMap::new();
    let mut entries = vec![0];
    // The routine, by its number from 1, in which a block was met last.
    let mut met = vec![0usize; cfg.blocks().len()];
    let mut pairs = 0;
    while let Some(entry) = entries.pop() {
        if found.contains_key(&entry) || entry >= cfg.blocks().len() {
            continue;
        }
        let number = found.len() + 1;
        met[entry] = number;
        let mut calls = Vec::new();
        let mut stack = vec![entry];
        while let Some(block) = stack.pop() {
            calls.extend(call_of(cfg, block));
            stack.extend(
                cfg.successors(block)
                    .filter(|&next| std::mem::replace(&mut met[next], number) != number),
            );
            pairs += 1;
            if pairs > MAX_PAIRS {
                let pc = cfg.blocks()[entry].pcs.start;
                return Err(at(program, pc, ValidationErrorKind::TooComplex));
            }
        }
        entries.extend(calls.iter().map(|&(callee, _)| callee));
        found.insert(entry, Routine { calls });
    }
    Ok(found)
}

/// The routine called at the end of a block and the call's pc.
fn call_of(cfg: &ControlFlow, block: usize) -> Option<(usize, usize)> {
    let block = &cfg.blocks()[block];
    match block.terminator {
        Terminator::Call(to) => Some((cfg.block_starting_at(to)?, block.pcs.end - 1)),
        _ => None,
    }
}

/// Entries of the routines, callees before their callers where calls do not recurse; and whether
/// any recursion was met.
pub(super) fn callees_first(routines: &BTreeMap<usize, Routine>) -> (Vec<usize>, bool) {
    #[derive(Clone, Copy, PartialEq)]
    enum Mark {
        Open,
        Done,
    }
    let mut marks: BTreeMap<usize, Mark> = BTreeMap::new();
    let (mut order, mut recursive) = (Vec::new(), false);
    let mut stack = vec![(0usize, 0usize)];
    while let Some((entry, next)) = stack.pop() {
        let Some(routine) = routines.get(&entry) else {
            continue;
        };
        marks.entry(entry).or_insert(Mark::Open);
        match routine.calls.get(next) {
            Some(&(callee, _)) => {
                stack.push((entry, next + 1));
                match marks.get(&callee) {
                    None => stack.push((callee, 0)),
                    Some(Mark::Open) => recursive = true,
                    Some(Mark::Done) => {}
                }
            }
            None => {
                marks.insert(entry, Mark::Done);
                order.push(entry);
            }
        }
    }
    (order, recursive)
}

/// Checks that calls nest no deeper than a lane may hold; recursion is left to the run.
pub(super) fn check(program: &Program, cfg: &ControlFlow) -> Result<(), ValidationError> {
    deepest(program, cfg).map(drop)
}

/// Depth of the longest chain of calls of a program that the validator accepts; `None` if calls recurse.
pub(crate) fn deepest_call(program: &Program) -> Option<usize> {
    deepest(program, &ControlFlow::new(program)).ok().flatten()
}

fn deepest(program: &Program, cfg: &ControlFlow) -> Result<Option<usize>, ValidationError> {
    let routines = routines(program, cfg)?;
    let (order, recursive) = callees_first(&routines);
    if recursive {
        return Ok(None);
    }
    let mut depth: BTreeMap<usize, usize> = BTreeMap::new();
    let mut first: Option<(usize, usize)> = None;
    for entry in order {
        let mut deepest = 0;
        for &(callee, pc) in &routines[&entry].calls {
            let through = 1 + depth.get(&callee).copied().unwrap_or(0);
            if through > MAX_CALL_DEPTH {
                first = Some(first.map_or((pc, through), |found| found.min((pc, through))));
            }
            deepest = deepest.max(through);
        }
        depth.insert(entry, deepest);
    }
    match first {
        Some((pc, depth)) => Err(at(program, pc, ValidationErrorKind::CallDepth { depth })),
        None => Ok(Some(depth.get(&0).copied().unwrap_or(0))),
    }
}
