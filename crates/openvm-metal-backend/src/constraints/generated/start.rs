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

/// Whether kernels are made for rules.
fn wanted(config: &MetalProverConfig) -> Result<bool, MetalProverError> {
    Ok(match config.constraint_kernels.resolved()? {
        ConstraintKernels::Generated => true,
        // No device was measured yet on which they are quicker.
        ConstraintKernels::Interpreted | ConstraintKernels::Auto => false,
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
    if !wanted(config)? {
        return Ok(kernels);
    }
    let folder = folder::open(config.kernel_folder.as_deref());
    for batch in batches(kind, airs) {
        let parts: Vec<Part<'_>> = batch.iter().map(|(_, part)| part.clone()).collect();
        let unit = pool::unit(context, kind, &folder, &parts);
        for (number, ((a, k), part)) in batch.into_iter().enumerate() {
            let program = kernels[a][k].get_or_insert_with(ProgramKernels::default);
            program.push(part.shapes, part.points, unit.clone(), 2 * number);
        }
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
        let compiled = compiler.compile(&text, &text::values(&parts));
        compiled.map_err(failed)?;
    }
    Ok(batches.len())
}
