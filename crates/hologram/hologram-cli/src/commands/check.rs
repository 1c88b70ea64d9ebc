//! `hologram check`.

use std::path::PathBuf;

use clap::Args;
use hologram_backends::validate::validate_launch;

use super::{load, put};
use crate::error::Result;
use crate::launch::LaunchArgs;

/// Arguments of `check`.
#[derive(Args, Debug)]
pub struct CheckArgs {
    /// The program, serialised or text.
    program: PathBuf,
    #[command(flatten)]
    launch: LaunchArgs,
}

/// Validates the program with its launch.
pub fn run(args: &CheckArgs) -> Result<()> {
    let program = load(&args.program)?;
    let mut params = args.launch.params();
    for spec in &args.launch.registers {
        // The value does not matter to the check.
        params = params.with_register(spec.register, spec.ty(), 0);
    }
    let flow = validate_launch(&program, &params)?;
    let text = format!(
        "valid: instructions {}, labels {}, basic blocks {}\n",
        program.len(),
        program.labels().len(),
        flow.blocks().len()
    );
    put(None, text.as_bytes())
}
