//! The instruction table: every instruction on every type at edge values, against results computed apart from the
//! backends: integers in 128 bits, floats in integers, functions from tables.
//!
//! Jumps, fences, pools and whole-buffer operations are not in it; random programs and tests of their own have them.

mod atlas;
mod case;
mod convert;
mod floats;
mod flush;
mod function_values;
mod functions;
mod integers;
mod memory;
mod softfloat;

pub use case::{Case, Compared};

use hologram_backends::metal::MetalBackend;
use hologram_backends::{Backend, Result};

use crate::Promise;

/// All cases of the table for a device of some promise.
pub fn cases(promise: Promise) -> Vec<Case> {
    let doubles = promise.doubles;
    [
        integers::cases(),
        floats::cases(promise),
        convert::cases(doubles),
        functions::cases(promise),
        atlas::cases(doubles),
        memory::cases(doubles),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Compiles the programs of cases together, which is quicker than one by one.
///
/// # Errors
/// Those of the backend's memory and compiler.
pub fn prepare(backend: &mut MetalBackend, cases: &[Case]) -> Result<()> {
    let mut programs = Vec::with_capacity(cases.len());
    for case in cases {
        let (handles, params) = case.prepare(backend)?;
        for handle in handles {
            backend.free_buffer(handle)?;
        }
        programs.push((case.program()?, params));
    }
    let programs: Vec<_> = programs.iter().map(|(p, params)| (p, params)).collect();
    backend.prepare(&programs).map(drop)
}
