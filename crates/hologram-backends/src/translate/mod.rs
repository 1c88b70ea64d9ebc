//! Whole programs to one fused kernel each, in Metal Shading Language.
//!
//! [`translate`] gives a [`Plan`]: the text of a kernel, equal for programs of one shape, and the list of
//! what fills its parameters. [`unit()`] puts the kernels of several plans behind one prelude.

mod emit;
pub mod fault;
mod graph;
mod handles;
mod kernel;
mod memory;
mod plan;
mod reroll;
mod structure;
mod types;
mod value;

pub use kernel::CONTROL_BYTES;
pub use plan::{immediate, initial_bits, Options, Plan, Slot, Source};
pub use reroll::{reroll, Lanes, Rerolled, SCRATCH};

use hologram_kernels::device::POWER;

use crate::backend::error::{BackendError, Result};
use crate::isa::{Instruction, Ty};
use crate::program::Program;

/// Functions that every kernel may call.
pub const PRELUDE: &str = include_str!("prelude.metal");

/// Powers of `f64` where no mathematics library is linked: what stands before and after their text.
const POWER_BEFORE: &str = "
#ifdef HG_POWER
typedef double wide;
#define POWER_CALL HG_FAR
";
const POWER_AFTER: &str = "
METAL_FUNC double hg_pow_f64(double x, double y) { return power(x, y); }
#endif
";

/// Most instructions of a program that is translated.
pub const MAX_TRANSLATED: usize = 1 << 15;

/// Translates a program that the validator accepts.
///
/// # Errors
/// [`BackendError::UnsupportedInstruction`] for `f64` on Apple GPUs, whole-buffer
/// instructions, and pools that a program makes or frees; [`BackendError::UnsupportedOperation`] over
/// [`MAX_TRANSLATED`] instructions.
pub fn translate(program: &Program, options: &Options) -> Result<Plan> {
    if program.len() > MAX_TRANSLATED {
        return Err(BackendError::UnsupportedOperation(format!(
            "{} instructions in one kernel, at most {MAX_TRANSLATED}",
            program.len()
        )));
    }
    for (pc, instruction) in program.instructions().iter().enumerate() {
        if let Some(reason) = unsupported(instruction, options) {
            return Err(BackendError::UnsupportedInstruction {
                pc,
                instruction: instruction.to_string(),
                reason: reason.into(),
            });
        }
    }
    Ok(kernel::plan(program, options))
}

fn unsupported(instruction: &Instruction, options: &Options) -> Option<&'static str> {
    use Instruction as I;
    if instruction.is_intrinsic() {
        return Some("whole-buffer instructions are not part of fused kernels");
    }
    if let I::PoolAlloc { .. } | I::PoolFree { .. } = instruction {
        return Some("a kernel cannot make or free pools");
    }
    let mut double = instruction.def().is_some_and(|(_, ty)| ty == Ty::F64);
    instruction.for_each_use(|_, ty| double |= ty == Ty::F64);
    if double && options.apple {
        return Some("Apple GPUs have no f64");
    }
    None
}

/// A compilable unit with a kernel for each name and plan.
pub fn unit<'a>(kernels: impl IntoIterator<Item = (&'a str, &'a Plan)>) -> String {
    let mut text = [PRELUDE, POWER_BEFORE, POWER, POWER_AFTER].concat();
    for (name, plan) in kernels {
        text.push('\n');
        text.push_str(&plan.kernel(name));
    }
    text
}

/// The unit of one program, for people to read.
///
/// # Errors
/// Those of [`translate`].
pub fn emit_msl(program: &Program, options: &Options) -> Result<String> {
    let plan = translate(program, options)?;
    Ok(unit([("program", &plan)]))
}
