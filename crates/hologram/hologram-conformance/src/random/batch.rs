//! Some random programs on one device, compiled together.

use std::ops::Range;

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::MetalBackend;
use hologram_backends::Result;

use super::{generate, Case, Comparison, Features, Subnormals};
use crate::Promise;

/// Results of the programs of [`compare_batch`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BatchOutcome {
    /// Programs.
    pub programs: usize,
    /// Kernels that were compiled for them.
    pub kernels: usize,
    /// Programs that ended with the same fault on both sides.
    pub equal_faults: usize,
    /// Programs that are alike with subnormals flushed.
    pub flushed: usize,
    /// Seeds of programs that depend on how subnormals are flushed, and were not compared further.
    pub met: Vec<u64>,
    /// Seed of each program that differs, and what does.
    pub different: Vec<(u64, String)>,
}

/// Runs the programs of some seeds on a backend that holds no memory yet, and on the interpreter.
///
/// # Errors
/// Those of the backend's memory and compiler.
pub fn compare_batch(
    device: &mut MetalBackend,
    seeds: Range<u64>,
    features: &Features,
    promise: Promise,
) -> Result<BatchOutcome> {
    let cases = seeds.map(|seed| generate(seed, features));
    let cases: Vec<Case> = cases.collect::<Result<_>>()?;
    let programs: Vec<_> = cases.iter().map(|c| (&c.program, &c.params)).collect();
    let kernels = device.prepare(&programs)?;
    let mut reference = CpuBackend::new();
    let mut comparison = Comparison::new(&mut reference, device, promise)?;
    let mut outcome = BatchOutcome {
        programs: cases.len(),
        kernels,
        ..BatchOutcome::default()
    };
    for case in &cases {
        match comparison.check(case) {
            Ok(alike) => {
                outcome.equal_faults += usize::from(alike.fault.is_some());
                match alike.subnormals {
                    Subnormals::Kept => {}
                    Subnormals::Flushed => outcome.flushed += 1,
                    Subnormals::Met => outcome.met.push(case.seed),
                }
            }
            Err(mismatch) => outcome.different.push((case.seed, mismatch.what)),
        }
    }
    Ok(outcome)
}
