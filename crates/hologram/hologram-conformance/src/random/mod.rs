//! Random programs, and the comparison of two backends on them.
//!
//! [`generate`] makes a valid program for every seed: all instructions (whole-buffer ones and pools made by programs
//! only if asked for), nested loops and branches, calls, irreducible flow, barriers, and sometimes faults. Lanes
//! write only bytes of their own, so that results do not depend on their order; some of these are written and read as values of all types. [`Comparison`] runs such
//! cases on two backends and compares memory and faults: exactly, but for the few ULP that
//! transcendental functions may differ by, whose results are stored apart and go nowhere else.
//! [`generate_loop`] and [`LoopComparison`] do the same for loops that run with many lanes.

mod batch;
mod compare;
mod control;
mod interpreted;
mod layout;
mod loops;
mod overlay;
mod rng;
mod shrink;
mod state;
mod values;

pub use batch::{compare_batch, BatchOutcome};
pub use compare::{Alike, Campaign, Comparison, Mismatch, Subnormals};
pub use loops::{generate_loop, Expected, LoopCampaign, LoopCase, LoopComparison, LoopMismatch};
pub use shrink::shrink;

use hologram_backends::{ExecutionParams, Program, Result};

/// Features that programs may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// `f64`.
    pub doubles: bool,
    /// Pools that programs make and free and, in launches of one lane, whole-buffer instructions: for backends that
    /// may fall back to the interpreter.
    pub fallback: bool,
    /// Statements of a program, about.
    pub statements: usize,
}

impl Default for Features {
    fn default() -> Self {
        Self {
            doubles: true,
            fallback: false,
            statements: 40,
        }
    }
}

/// A program with its launch.
#[derive(Clone, Debug)]
pub struct Case {
    /// Seed of the program.
    pub seed: u64,
    /// The program.
    pub program: Program,
    /// The launch; the registers with handles are those of a [`Comparison`]'s memory.
    pub params: ExecutionParams,
    /// Bytes of the output that each lane has for itself.
    pub stride: usize,
}

/// The case of a seed; the same on every machine.
///
/// # Errors
/// None: what it writes is a program.
pub fn generate(seed: u64, features: &Features) -> Result<Case> {
    control::generate(seed, features)
}
