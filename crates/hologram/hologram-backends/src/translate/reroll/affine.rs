//! Loops whose iterations are independent: each becomes a lane.
//!
//! A lane runs what stands before the loop, moves the registers that change by fixed steps to its iteration, and
//! runs the body once. The lane of the last iteration then has all registers as the loop leaves them and runs
//! what stands behind.

use super::access::unrelated;
use super::code::Code;
use super::counted::Counted;
use super::BLOCK;
use crate::backend::launch::{ExecutionParams, LaunchConfig};
use crate::isa::{Condition, Register, Ty};
use crate::program::Program;

/// The loop with a lane for each iteration; `None` if what stands behind it depends on more than the last one.
pub fn rewrite(repeated: &Counted<'_>) -> Option<(Program, ExecutionParams)> {
    let Counted {
        parts,
        each,
        behind,
        before,
        ..
    } = repeated;
    let known = |r: &Register| each.end.written.contains(r) || repeated.is_induction(*r);
    let mut registers = behind.exposed.intersection(&repeated.changed);
    let mut predicates = behind
        .exposed_predicates
        .intersection(&repeated.changed_predicates);
    let last = (&behind.accesses[..], 1);
    let fine = registers.all(known)
        && predicates.all(|p| each.end.predicates.contains(p))
        && unrelated(last, (&each.accesses, repeated.count))
        && unrelated(last, (&before.accesses, 1));
    if !fine {
        return None;
    }
    let mut code = Code::new(repeated.program, repeated.params)?;
    let end = code.label()?;
    let lane = Register::GLOBAL_LANE;
    let count = code.preset(Ty::U64, repeated.count)?;
    code.jump_if(Condition::Ge, lane, count, &end);
    code.copy(parts.before.clone())?;
    code.advance(&repeated.inductions, lane)?;
    code.copy(parts.body.clone())?;
    if !parts.behind.is_empty() {
        let last = code.preset(Ty::U64, repeated.count - 1)?;
        code.jump_if(Condition::Ne, lane, last, &end);
        code.copy(parts.behind.clone())?;
    }
    code.bind(&end)?;
    let block = u64::from(BLOCK).min(repeated.count) as u32;
    let launch = LaunchConfig::linear(repeated.count, block);
    Some(code.finish(repeated.params, launch))
}
