//! The validator: what is certain about a program before it runs.
//!
//! Every instruction is checked for its own rules, reachable or not; initialisation and types of
//! registers are checked along the control-flow graph, through calls by summaries of what each
//! called routine does to every register.

mod cfg;
mod depth;
mod flow;
mod local;
mod state;

pub use crate::error::{ValidationError, ValidationErrorKind};
pub use cfg::{BasicBlock, ControlFlow, Terminator};
pub(crate) use depth::deepest_call;

use crate::backend::launch::ExecutionParams;
use crate::error::validation::at;
use crate::error::Result;
use crate::isa::{Register, Ty};
use crate::program::Program;

/// Checks a program whose lanes begin with the special registers and with `initial` ones.
///
/// Returns the control-flow graph. Cost: linear in the program, times the nesting of its loops;
/// what would take longer than seconds is rejected as too complex.
///
/// # Errors
/// [`BackendError::Program`](crate::BackendError::Program) for labels past the end or programs too
/// long, [`BackendError::Validation`](crate::BackendError::Validation) for all else; of several
/// errors of the first failing check (each instruction by itself, depth of calls, registers) the one
/// of the smallest pc.
pub fn validate(program: &Program, initial: &[(Register, Ty)]) -> Result<ControlFlow> {
    local::check(program)?;
    program.check_labels()?;
    let cfg = ControlFlow::new(program);
    depth::check(program, &cfg)?;
    flow::check(program, &cfg, initial)?;
    Ok(cfg)
}

/// Checks a program together with its launch: limits, initial registers, whole-buffer instructions.
///
/// # Errors
/// Those of [`validate`] and of [`LaunchConfig::check`](crate::LaunchConfig::check).
pub fn validate_launch(program: &Program, params: &ExecutionParams) -> Result<ControlFlow> {
    let (blocks, lanes) = params.launch.check()?;
    let lanes = blocks * u64::from(lanes);
    let initial: Vec<_> = params
        .initial_registers
        .iter()
        .map(|&(register, ty, _)| (register, ty))
        .collect();
    let cfg = validate(program, &initial)?;
    if lanes > 1 {
        let intrinsic = program.instructions().iter().position(|i| i.is_intrinsic());
        if let Some(pc) = intrinsic {
            return Err(at(program, pc, ValidationErrorKind::IntrinsicLanes { lanes }).into());
        }
    }
    Ok(cfg)
}

impl Program {
    /// Checks the program for launches without initial registers.
    ///
    /// # Errors
    /// Those of [`validate`].
    pub fn validate(&self) -> Result<()> {
        validate(self, &[]).map(drop)
    }
}
