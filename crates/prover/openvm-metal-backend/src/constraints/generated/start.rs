//! From the programs of a key to kernels that are being compiled.

use std::path::Path;

use openvm_metal_common::{DeviceKind, DeviceProfile, MetalContext, MetalError};

use super::{
    batches::{batches, complete, Batch},
    compile::{Compiler, UNIT},
    folder,
    kernels::SumKernels,
    pool,
    text::{self, KernelGroup},
};
use crate::{
    config::{ConstraintKernels, MetalProverConfig},
    error::MetalProverError,
    programs::AirPrograms,
    prover_profile::ProverProfile,
};

/// Source of kernels: compiled, or taken if they were compiled before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Compiled,
    Found,
}

/// Source of the kernels of rules; `None` if there are to be none.
fn origin(
    profile: &DeviceProfile,
    config: &MetalProverConfig,
) -> Result<Option<Origin>, MetalProverError> {
    Ok(match config.constraint_kernels.resolved()? {
        ConstraintKernels::Generated => Some(Origin::Compiled),
        // Compilers take seconds to minutes of processors that are needed for traces.
        ConstraintKernels::Auto => ProverProfile::new(profile, 0)
            .precompiled_kernels
            .then_some(Origin::Found),
        ConstraintKernels::Interpreted => None,
    })
}

/// Begins to compile kernels for the programs of a key: for each AIR those of each sum.
///
/// # Errors
/// If the environment asks for something that does not exist.
pub fn start<'a>(
    context: &MetalContext,
    config: &MetalProverConfig,
    airs: impl IntoIterator<Item = &'a AirPrograms>,
) -> Result<Vec<Vec<SumKernels>>, MetalProverError> {
    let (kind, profile) = (context.info().kind, context.device_profile());
    let airs: Vec<&AirPrograms> = airs.into_iter().collect();
    let none = airs
        .iter()
        .map(|air| vec![SumKernels::default(); air.sums.len()]);
    let mut kernels: Vec<Vec<SumKernels>> = none.collect();
    let Some(origin) = origin(profile, config)? else {
        return Ok(kernels);
    };
    let folder = match origin {
        Origin::Compiled => folder::open(config.kernel_folder.as_deref()),
        Origin::Found => match folder::existing(config.kernel_folder.as_deref()) {
            Some(folder) => Ok(folder),
            None => return Ok(kernels),
        },
    };
    let compiler = folder.map(|folder| Compiler::new(kind, folder));
    let batches = batches(profile, airs);
    let text = |batch: &Batch<'_>| text::for_device(kind, &groups(batch));
    let texts: Vec<String> = batches.iter().map(text).collect();
    let there = |text: &String| match origin {
        Origin::Compiled => true,
        Origin::Found => compiler.as_ref().is_ok_and(|c| c.has(text)),
    };
    let there: Vec<bool> = texts.iter().map(there).collect();
    let missing = there.iter().filter(|&&there| !there).count();
    if missing > 0 && config.kernel_folder.is_some() {
        let all = there.len();
        tracing::warn!(
            missing,
            all,
            "kernels are not in the folder: it was made by another build, for another key or for another kind of device"
        );
    }
    let complete = complete(&batches, &there);
    for (batch, text) in batches.into_iter().zip(texts) {
        if !batch.iter().any(|(owner, _)| complete.contains(owner)) {
            continue;
        }
        let unit = pool::unit(context, compiler.clone(), text, batch.len());
        for (number, (owner, group)) in batch.into_iter().enumerate() {
            if complete.contains(&owner) {
                let (a, k, field) = owner;
                let program = kernels[a][k].over_mut(field);
                program.push(group.members, group.points, unit.clone(), number);
            }
        }
    }
    Ok(kernels)
}

fn groups<'a>(batch: &Batch<'a>) -> Vec<KernelGroup<'a>> {
    batch.iter().map(|(_, group)| group.clone()).collect()
}

/// Compiles the kernels of a key for devices of a kind into a folder, for machines without a compiler: the number of
/// units.
///
/// # Errors
/// The compiler's words.
pub fn compile_ahead<'a>(
    kind: DeviceKind,
    folder: &Path,
    airs: impl IntoIterator<Item = &'a AirPrograms>,
) -> Result<usize, MetalProverError> {
    let failed = |message| MetalError::KernelCompile {
        device: kind,
        unit: UNIT.into(),
        message,
    };
    let compiler = Compiler::new(kind, folder::open(Some(folder)).map_err(failed)?);
    let batches = batches(&DeviceProfile::typical(kind), airs);
    for batch in &batches {
        let groups = groups(batch);
        let text = text::for_device(kind, &groups);
        let compiled = compiler.compile(&text, groups.len());
        compiled.map_err(failed)?;
    }
    Ok(batches.len())
}

/// The texts that [`compile_ahead`] compiles.
pub fn texts<'a>(kind: DeviceKind, airs: impl IntoIterator<Item = &'a AirPrograms>) -> Vec<String> {
    let batches = batches(&DeviceProfile::typical(kind), airs);
    let text = |batch: &Batch<'_>| text::for_device(kind, &groups(batch));
    batches.iter().map(text).collect()
}
