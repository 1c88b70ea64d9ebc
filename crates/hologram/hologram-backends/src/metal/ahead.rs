//! Compiling kernels for a machine without a compiler.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use openvm_metal_common::{DeviceKind, DeviceProfile};

use super::backend::base_options;
use super::effort::Effort;
use super::pipeline::{compile_group, groups, options};
use super::unit::UnitCompiler;
use crate::backend::launch::ExecutionParams;
use crate::error::Result;
use crate::program::Program;
use crate::translate::{translate, Options};
use crate::validate::validate;

/// Kernels in a folder with which a [`MetalBackend`](super::MetalBackend) of that kind is opened later: it finds
/// those of [`MetalBackend::prepare`](super::MetalBackend::prepare) for the same programs in the same order.
pub struct Ahead {
    compiler: UnitCompiler,
    base: Options,
    known: HashSet<String>,
}

impl Ahead {
    /// No kernels yet.
    ///
    /// # Errors
    /// No compiler for this kind of device.
    pub fn new(kind: DeviceKind, folder: PathBuf) -> Result<Self> {
        let compiler = UnitCompiler::new(kind, folder, Effort::Usual);
        compiler.check()?;
        Ok(Self {
            compiler,
            base: base_options(&DeviceProfile::typical(kind)),
            known: HashSet::new(),
        })
    }

    /// Compiles what one call of `prepare` needs; programs that are not valid or cannot run there are left out.
    /// Programs of one lane that run with many are given as [`reroll`](crate::translate::reroll) makes them.
    ///
    /// # Errors
    /// Those of the compiler.
    pub fn compile(&mut self, programs: &[(&Program, &ExecutionParams)]) -> Result<()> {
        let mut plans = Vec::new();
        for &(program, params) in programs {
            let shape = options(&self.base, program, params);
            if validate(program, &shape.initial).is_ok() {
                plans.extend(translate(program, &shape).ok().map(Arc::new));
            }
        }
        for group in groups(plans.iter(), |text| self.known.contains(text)) {
            compile_group(&self.compiler, &group)?;
        }
        self.known
            .extend(plans.iter().map(|plan| plan.text.clone()));
        Ok(())
    }

    /// Number of kernels.
    pub fn kernels(&self) -> usize {
        self.known.len()
    }
}
