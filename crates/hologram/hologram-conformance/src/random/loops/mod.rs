//! Random loops of one lane, most of which can run with many lanes.
//!
//! [`generate_loop`] makes a counted loop that loads, computes and stores along offsets that move by fixed steps,
//! and sometimes collects values; now and then something is done that forbids many lanes, or may.
//! [`LoopComparison`] runs such programs on the interpreter and on a device: memory, faults, and whether
//! many lanes were used where they must be.

mod compare;
mod write;

pub use compare::{LoopCampaign, LoopComparison, LoopMismatch};

use hologram_backends::{ExecutionParams, Program, Result, Ty};

/// Bytes of each buffer.
const BYTES: usize = 1 << 16;
/// Stores of iterations stay below; what stands behind the loop stores from here on.
const TAIL: usize = BYTES - 256;

/// Buffers, as handles from 1 on: `f32`, `f64` and integers to read, and two to write.
const BUFFERS: u64 = 5;

/// The buffer whose bytes are values of a type.
const fn input(ty: Ty) -> u64 {
    match ty {
        Ty::F32 => 1,
        Ty::F64 => 2,
        _ => 3,
    }
}

/// The expected execution of a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// With a lane for each iteration.
    Lanes,
    /// Execution as a tree.
    Tree,
    /// With one lane.
    OneLane,
    /// Either.
    Any,
}

/// A loop with its launch.
#[derive(Clone, Debug)]
pub struct LoopCase {
    /// Seed of the loop.
    pub seed: u64,
    /// The program.
    pub program: Program,
    /// The launch; handles are those of a [`LoopComparison`]'s memory.
    pub params: ExecutionParams,
    /// The expected execution.
    pub expected: Expected,
}

/// The loop of a seed; the same on every machine.
///
/// # Errors
/// None: what it writes is a program.
pub fn generate_loop(seed: u64, doubles: bool) -> Result<LoopCase> {
    write::generate(seed, doubles)
}
