//! Programs of one lane as programs of many lanes.
//!
//! Two forms are known: one counted loop ([`counted`]), and the same group of instructions again and again, which is
//! written as such a loop ([`unrolled`]). Its iterations are independent ([`affine`]) or meet in sums, products,
//! extremes and the like ([`reduce`]). The rewriting happens at launch, when registers, handles and the sizes of buffers are
//! known: all accesses are proved to lie inside their buffers and all iterations to be independent, so that
//! nothing but the time can be observed. What cannot be proved runs as it is, faults included.

mod access;
mod accumulate;
mod affine;
pub(super) mod code;
mod counted;
pub(super) mod line;
mod reduce;
mod unrolled;
pub(super) mod walk;

use openvm_metal_common::Execution;

use crate::backend::launch::ExecutionParams;
use crate::program::Program;

/// Fewest repetitions that are worth it.
const MIN_REPETITIONS: usize = 16;
/// Lanes of a block.
const BLOCK: u32 = 256;

/// Handle by which stages use the scratch memory: no buffer has it.
pub const SCRATCH: u64 = u64::MAX - 96;

/// Execution of lanes by a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lanes {
    /// A few at once, each like a program of its own.
    Few,
    /// Thousands at once, neighbours together.
    Many,
}

impl From<Execution> for Lanes {
    fn from(execution: Execution) -> Self {
        match execution {
            Execution::MultiCore => Self::Few,
            Execution::ManyCore => Self::Many,
        }
    }
}

/// Programs that run instead of a program of one lane.
#[derive(Clone, Debug)]
pub struct Rerolled {
    /// Launches, one after another.
    pub stages: Vec<(Program, ExecutionParams)>,
    /// Bytes of scratch memory that they share.
    pub scratch: usize,
    /// Repetitions are folded into values by a tree.
    pub folded: bool,
}

/// The same work in many lanes; `size_of` gives the bytes of a buffer. `None` where it does not apply.
///
/// Of a program that is not valid the result is not defined. Cost: linear in the program's length.
pub fn reroll(
    program: &Program,
    params: &ExecutionParams,
    size_of: impl Fn(u64) -> Option<usize>,
    lanes: Lanes,
) -> Option<Rerolled> {
    if params.launch.grid.count()? != 1 || params.launch.block.count()? != 1 {
        return None;
    }
    let rolled;
    let (program, params) = match counted::find(program) {
        Some(_) => (program, params),
        None => {
            rolled = unrolled::roll(program, params)?;
            (&rolled.0, &rolled.1)
        }
    };
    let parts = counted::find(program)?;
    let repeated = counted::analyse(program, &parts, params, &size_of)?;
    if !repeated.accumulators.is_empty() {
        return reduce::rewrite(&repeated, lanes);
    }
    Some(Rerolled {
        stages: vec![affine::rewrite(&repeated)?],
        scratch: 0,
        folded: false,
    })
}
