//! Whole programs to one fused kernel each, in Metal Shading Language.
//!
//! [`translate`] gives a [`Plan`]: the text of a kernel, equal for programs of one shape, and the list of
//! what fills its parameters. [`unit()`] puts the kernels of several plans behind one prelude.

mod emit;
pub(crate) mod expression;
pub(crate) mod fault;
mod graph;
mod handles;
mod in_bounds;
mod kernel;
mod memory;
mod plan;
mod reroll;
mod returns;
mod structure;
mod types;
mod value;

pub(crate) use in_bounds::in_bounds;
pub(crate) use kernel::CONTROL_BYTES;
pub(crate) use plan::{immediate, initial_bits};
pub use plan::{Options, Plan, Slot, Source};
pub use reroll::{reroll, Lanes, Rerolled, SCRATCH};

use hologram_kernels::device::{ANGLES, POWER};
use openvm_metal_builder::{lexer::Tokens, scan, slices};

use crate::error::{BackendError, Result};
use crate::isa::{Instruction, Ty};
use crate::program::Program;

/// The text of the prelude's files, one behind the other.
macro_rules! prelude {
    ($($name:literal)*) => {
        /// Functions that every kernel may call: the files that `prelude.metal` includes, in its order.
        pub const PRELUDE: &str = concat!($(include_str!(concat!("prelude/", $name)), "\n"),*);

        #[test]
        fn the_prelude_is_what_apple_gets() {
            let included: String = [$($name),*].iter().map(|name| format!("#include \"{name}\"\n")).collect();
            let (_, text) = include_str!("prelude/prelude.metal").split_once('\n').unwrap_or_default();
            assert_eq!(text, included);
        }
    };
}
prelude! {
    "start.h" "faults.h" "memory.h" "handles.h" "classes.h" "numbers.h" "quotients.h" "functions.h" "expressions.h"
}
/// The same as Apple's compiler gets it: without conditions and macros.
const APPLE_PRELUDE: &str = include_str!(concat!(env!("OUT_DIR"), "/prelude.metal"));

/// Powers and functions of angles of `f64` where no mathematics library is linked: what stands before and after their text.
const SHARED_BEFORE: &str = "
#ifdef HG_SHARED
typedef double wide;
#define POWER_CALL HG_FAR
#define ANGLE_CALL HG_FAR
";
const SHARED_AFTER: &str = "
METAL_FUNC double hg_pow_f64(double x, double y) { return power(x, y); }
METAL_FUNC double hg_sin_f64(double x) { return real_sin(x); }
METAL_FUNC double hg_cos_f64(double x) { return real_cos(x); }
METAL_FUNC double hg_tan_f64(double x) { return real_tan(x); }
HG_MATH(sin) HG_MATH(cos) HG_MATH(tan)
#endif
";

/// Most instructions of a program that is translated.
pub const MAX_TRANSLATED: usize = 1 << 15;
/// The same for Apple GPUs, whose compiler gets the whole text when a program starts: 0.7 MB of it.
pub const MAX_TRANSLATED_APPLE: usize = 1 << 12;

/// Most instructions of a program that is translated for a kind of device.
pub fn most_instructions(options: &Options) -> usize {
    match options.apple {
        true => MAX_TRANSLATED_APPLE,
        false => MAX_TRANSLATED,
    }
}

/// Translates a program that the validator accepts.
///
/// # Errors
/// [`BackendError::UnsupportedInstruction`] for `f64` on Apple GPUs, whole-buffer
/// instructions, and pools that a program makes or frees; [`BackendError::UnsupportedOperation`] over
/// [`most_instructions`].
pub fn translate(program: &Program, options: &Options) -> Result<Plan> {
    let most = most_instructions(options);
    if program.len() > most {
        return Err(BackendError::UnsupportedOperation(format!(
            "{} instructions in one kernel, at most {most}",
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

/// A unit with a kernel for each name and plan, for the [`Toolchain`](openvm_metal_builder::Toolchain).
pub fn unit<'a>(kernels: impl IntoIterator<Item = (&'a str, &'a Plan)>) -> String {
    unit_of(&texts(kernels))
}

/// The unit of kernels' text.
pub(crate) fn unit_of(kernels: &str) -> String {
    [PRELUDE, SHARED_BEFORE, POWER, ANGLES, SHARED_AFTER, kernels].concat()
}

/// The same for a processor that computes as an Apple GPU.
pub(crate) fn unit_as_apple(kernels: &str) -> String {
    format!("#define HG_AS_APPLE 1\n{}", unit_of(kernels))
}

/// The same as Apple's compiler gets it; kernels take the place of a slice in its grid.
pub fn apple_unit<'a>(kernels: impl IntoIterator<Item = (&'a str, &'a Plan)>) -> String {
    apple_unit_of(&texts(kernels))
}

/// The same of kernels' text.
pub(crate) fn apple_unit_of(kernels: &str) -> String {
    let tokens = Tokens::new(format!("{APPLE_PRELUDE}#line 1 \"program\"{kernels}"));
    slices::with_slices(&tokens, &scan::scan(&tokens))
}

/// The kernels, each on lines of its own.
pub(crate) fn texts<'a>(kernels: impl IntoIterator<Item = (&'a str, &'a Plan)>) -> String {
    let all = kernels.into_iter();
    all.map(|(name, plan)| format!("\n{}", plan.kernel(name)))
        .collect()
}

/// The unit of one program, for people to read.
///
/// # Errors
/// Those of [`translate`].
pub fn emit_msl(program: &Program, options: &Options) -> Result<String> {
    let plan = translate(program, options)?;
    let kernels = [("program", &plan)];
    Ok(match options.apple {
        true => apple_unit(kernels),
        false => unit(kernels),
    })
}
