//! Compiling the kernels of random programs for a machine without a compiler.

use std::path::PathBuf;

use hologram_backends::metal::Ahead;
use hologram_backends::Result;
use openvm_metal_common::{DeviceKind, DeviceProfile};

use super::compare::BATCH;
use super::loops::{compare::BATCH as LOOPS, stages};
use super::{generate, generate_loop, Features};

/// Compiles what [`Comparison::campaign`](super::Comparison::campaign) with the same seed, count and features needs
/// on a [`MetalBackend`](hologram_backends::metal::MetalBackend) of this kind, to a folder that it is then opened with; gives the number of
/// kernels. Campaigns of up to 4096 programs find all of them.
///
/// # Errors
/// No compiler, or its message.
pub fn compile_ahead(
    kind: DeviceKind,
    folder: PathBuf,
    seed: u64,
    count: u64,
    features: &Features,
) -> Result<usize> {
    let mut ahead = Ahead::new(kind, folder)?;
    for start in (0..count).step_by(BATCH as usize) {
        let cases = (start..(start + BATCH).min(count))
            .map(|i| generate(seed.wrapping_add(i), features))
            .collect::<Result<Vec<_>>>()?;
        let programs: Vec<_> = cases.iter().map(|c| (&c.program, &c.params)).collect();
        ahead.compile(&programs)?;
    }
    Ok(ahead.kernels())
}

/// The same for [`LoopComparison::campaign`](super::LoopComparison::campaign).
///
/// # Errors
/// No compiler, or its message.
pub fn compile_loops_ahead(
    kind: DeviceKind,
    folder: PathBuf,
    seed: u64,
    count: u64,
    doubles: bool,
) -> Result<usize> {
    let mut ahead = Ahead::new(kind, folder)?;
    let execution = DeviceProfile::typical(kind).execution;
    for start in (0..count).step_by(LOOPS as usize) {
        let mut launched = Vec::new();
        for i in start..(start + LOOPS).min(count) {
            let case = generate_loop(seed.wrapping_add(i), doubles)?;
            launched.extend(stages(&case, execution));
        }
        let programs: Vec<_> = launched.iter().map(|(p, params)| (p, params)).collect();
        ahead.compile(&programs)?;
    }
    Ok(ahead.kernels())
}
