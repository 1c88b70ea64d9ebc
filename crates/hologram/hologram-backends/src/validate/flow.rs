//! Initialisation and types of registers along the control-flow graph.

use std::collections::{BTreeMap, BTreeSet};

use super::cfg::{ControlFlow, Terminator};
use super::depth::{callees_first, routines};
use super::state::{Held, State};
use crate::error::validation::{at, ValidationError, ValidationErrorKind as Kind};
use crate::isa::{Instruction, Register, Ty};
use crate::program::Program;

/// Effects on every slot of each routine that returns, by entry block.
type Summaries = BTreeMap<usize, State>;

/// Most work, in instructions passed (and [`VISIT`] for each visit of a block): about a second.
const MAX_WORK: u64 = 1 << 27;
const VISIT: u64 = 16;

/// The program, its graph, and the work that may still be done on it.
struct Analysis<'a> {
    program: &'a Program,
    cfg: &'a ControlFlow,
    work: u64,
}

/// Checks every reachable read.
pub(super) fn check(
    program: &Program,
    cfg: &ControlFlow,
    initial: &[(Register, Ty)],
) -> Result<(), ValidationError> {
    if program.is_empty() {
        return Ok(());
    }
    let routines = routines(program, cfg)?;
    let (order, _) = callees_first(&routines);
    let mut analysis = Analysis {
        program,
        cfg,
        work: MAX_WORK,
    };
    let mut summaries = Summaries::new();
    // Without recursion the first round is final and the second finds nothing new.
    let mut changed = routines.len() > 1;
    while changed {
        changed = false;
        for &entry in &order {
            let Some(new) = analysis.summarize(entry, &summaries)? else {
                continue;
            };
            if summaries.get(&entry) != Some(&new) {
                summaries.insert(entry, new);
                changed = true;
            }
        }
    }

    let mut start = State::uninitialized();
    start.set(Register::LANE_X, Ty::U32);
    start.set(Register::BLOCK_X, Ty::U32);
    start.set(Register::BLOCK_DIM_X, Ty::U32);
    start.set(Register::GLOBAL_LANE, Ty::U64);
    for &(register, ty) in initial {
        start.set(register, ty);
    }
    let states = analysis.propagate(0, start, &summaries, true)?;
    for (&block, state) in &states {
        let mut state = state.clone();
        for pc in cfg.blocks()[block].pcs.clone() {
            let instruction = &program.instructions()[pc];
            check_reads(instruction, &state).map_err(|kind| at(program, pc, kind))?;
            apply(instruction, &mut state);
        }
    }
    Ok(())
}

impl Analysis<'_> {
    /// Effect of the routine at `entry`; `None` while no way to a return is known.
    fn summarize(
        &mut self,
        entry: usize,
        summaries: &Summaries,
    ) -> Result<Option<State>, ValidationError> {
        let states = self.propagate(entry, State::identity(), summaries, false)?;
        let mut summary: Option<State> = None;
        for (&block, state) in &states {
            if self.cfg.blocks()[block].terminator != Terminator::Return {
                continue;
            }
            let out = self.through(block, state.clone())?;
            match &mut summary {
                Some(met) => {
                    met.meet(&out);
                }
                None => summary = Some(out),
            }
        }
        Ok(summary)
    }

    /// States on entry of every block reached from `entry`; with `enter`, called routines are entered.
    fn propagate(
        &mut self,
        entry: usize,
        start: State,
        summaries: &Summaries,
        enter: bool,
    ) -> Result<BTreeMap<usize, State>, ValidationError> {
        let mut states = BTreeMap::from([(entry, start)]);
        let mut work = BTreeSet::from([entry]);
        while let Some(block) = work.pop_first() {
            let Some(state) = states.get(&block) else {
                continue;
            };
            let out = self.through(block, state.clone())?;
            let mut join = |to: usize, state: &State| match states.get_mut(&to) {
                Some(known) => {
                    if known.meet(state) {
                        work.insert(to);
                    }
                }
                None => {
                    states.insert(to, state.clone());
                    work.insert(to);
                }
            };
            if let Terminator::Call(to) = self.cfg.blocks()[block].terminator {
                // A call of the program's end ends the lane.
                if let Some(callee) = self.cfg.block_starting_at(to) {
                    if let Some(summary) = summaries.get(&callee) {
                        let after = out.after(summary);
                        self.cfg
                            .successors(block)
                            .for_each(|next| join(next, &after));
                    }
                    if enter {
                        join(callee, &out);
                    }
                }
            } else {
                self.cfg.successors(block).for_each(|next| join(next, &out));
            }
        }
        Ok(states)
    }

    /// The state after a block's instructions.
    fn through(&mut self, block: usize, mut state: State) -> Result<State, ValidationError> {
        let pcs = self.cfg.blocks()[block].pcs.clone();
        let cost = VISIT + pcs.len() as u64;
        self.work = self
            .work
            .checked_sub(cost)
            .ok_or_else(|| at(self.program, pcs.start, Kind::TooComplex))?;
        for instruction in &self.program.instructions()[pcs] {
            apply(instruction, &mut state);
        }
        Ok(state)
    }
}

fn apply(instruction: &Instruction, state: &mut State) {
    if let Some((register, ty)) = instruction.def() {
        state.set(register, ty);
    }
    if let Some(predicate) = instruction.predicate_def() {
        state.set_predicate(predicate);
    }
}

fn check_reads(instruction: &Instruction, state: &State) -> Result<(), Kind> {
    let mut result = Ok(());
    instruction.for_each_use(|register, expected| {
        if result.is_err() {
            return;
        }
        result = match state.register(register) {
            Held::Typed(ty) if ty == expected => Ok(()),
            Held::Typed(actual) => Err(Kind::TypeMismatch {
                register,
                expected,
                actual,
            }),
            Held::Ambiguous => Err(Kind::AmbiguousType { register, expected }),
            Held::Uninitialized => Err(Kind::UninitializedRegister(register)),
        };
    });
    result?;
    match instruction.predicate_use() {
        Some(predicate) if !state.has_predicate(predicate) => {
            Err(Kind::UninitializedPredicate(predicate))
        }
        _ => Ok(()),
    }
}
