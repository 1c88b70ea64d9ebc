//! Compiling the kernels of random programs for a machine without a compiler.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use openvm_metal_common::DeviceKind;

use super::compare::BATCH;
use super::{generate, Features};
use crate::backend::error::Result;
use crate::metal::base_options;
use crate::metal::pipeline::{compile_group, groups, options};
use crate::metal::unit::{Effort, UnitCompiler};
use crate::translate::translate;
use crate::validate::validate;

/// Compiles what [`Comparison::campaign`](super::Comparison::campaign) with the same seed, count and features needs
/// on a [`MetalBackend`](crate::metal::MetalBackend) of this kind, to a folder that it is then opened with; gives the number of
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
    let compiler = UnitCompiler::new(kind, folder, Effort::Usual);
    compiler.check()?;
    let base = base_options(kind);
    let mut known = HashSet::new();
    for start in (0..count).step_by(BATCH as usize) {
        let mut plans = Vec::new();
        for i in start..(start + BATCH).min(count) {
            let case = generate(seed.wrapping_add(i), features)?;
            let shape = options(&base, &case.program, &case.params);
            if validate(&case.program, &shape.initial).is_ok() {
                plans.extend(translate(&case.program, &shape).ok().map(Arc::new));
            }
        }
        for group in groups(plans.iter(), |text| known.contains(text)) {
            compile_group(&compiler, &group)?;
        }
        known.extend(plans.iter().map(|plan| plan.text.clone()));
    }
    Ok(known.len())
}
