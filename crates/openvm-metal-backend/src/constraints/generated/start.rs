//! From the programs of a key to kernels that are being compiled.

use std::path::Path;

use openvm_metal_common::{DeviceKind, MetalContext, MetalError};

use super::{
    batches::batches,
    compile::{Compiler, UNIT},
    folder,
    kernels::ProgramKernels,
    pool,
    text::{self, Part},
};
use crate::{
    config::{ConstraintKernels, MetalProverConfig},
    error::MetalProverError,
    programs::AirPrograms,
};

/// Whether kernels are compiled, or only taken where they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Compiled,
    Found,
}

/// Where the kernels of rules come from; `None` if there are to be none.
fn origin(
    kind: DeviceKind,
    config: &MetalProverConfig,
) -> Result<Option<Origin>, MetalProverError> {
    Ok(match (config.constraint_kernels.resolved()?, kind) {
        (ConstraintKernels::Generated, _) => Some(Origin::Compiled),
        // Compilers take seconds to minutes of processors that are needed for traces.
        (ConstraintKernels::Auto, DeviceKind::Cuda) => Some(Origin::Found),
        // Not measured there yet.
        (ConstraintKernels::Auto, DeviceKind::Cpu | DeviceKind::Metal) => None,
        (ConstraintKernels::Interpreted, _) => None,
    })
}

/// Begins to compile kernels for the programs of a key: for each AIR those of zerocheck and LogUp.
///
/// # Errors
/// If the environment asks for something that does not exist.
pub fn start<'a>(
    context: &MetalContext,
    config: &MetalProverConfig,
    airs: impl IntoIterator<Item = &'a AirPrograms>,
) -> Result<Vec<[Option<ProgramKernels>; 2]>, MetalProverError> {
    let kind = context.info().kind;
    let airs: Vec<&AirPrograms> = airs.into_iter().collect();
    let mut kernels = vec![[None, None]; airs.len()];
    let Some(origin) = origin(kind, config)? else {
        return Ok(kernels);
    };
    let folder = match origin {
        Origin::Compiled => folder::open(config.kernel_folder.as_deref()),
        Origin::Found => match folder::existing(config.kernel_folder.as_deref()) {
            Some(folder) => Ok(folder),
            None => return Ok(kernels),
        },
    };
    let mut missing = Vec::new();
    for batch in batches(kind, airs) {
        let parts: Vec<Part<'_>> = batch.iter().map(|(_, part)| part.clone()).collect();
        let compiler = folder.clone().map(|folder| Compiler::new(kind, folder));
        let text = text::for_device(kind, &parts);
        if origin == Origin::Found && !compiler.as_ref().is_ok_and(|c| c.has(&text)) {
            missing.extend(batch.into_iter().map(|(owner, _)| owner));
            continue;
        }
        let unit = pool::unit(context, compiler, text, parts.len());
        for (number, ((a, k), part)) in batch.into_iter().enumerate() {
            let program = kernels[a][k].get_or_insert_with(ProgramKernels::default);
            program.push(part.shapes, part.points, unit.clone(), number);
        }
    }
    // A program is evaluated by the kernels of all its parts, or interpreted.
    for (a, k) in missing {
        kernels[a][k] = None;
    }
    Ok(kernels)
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
    let batches = batches(kind, airs);
    for batch in &batches {
        let parts: Vec<Part<'_>> = batch.iter().map(|(_, part)| part.clone()).collect();
        let text = text::for_device(kind, &parts);
        let compiled = compiler.compile(&text, parts.len());
        compiled.map_err(failed)?;
    }
    Ok(batches.len())
}
