//! `hologram asm`.

use std::path::PathBuf;

use clap::Args;

use super::{load, put};
use crate::error::{CliError, Result};

/// Arguments of `asm`.
#[derive(Args, Debug)]
pub struct AsmArgs {
    /// The program.
    program: PathBuf,
    /// File of the serialised program.
    #[arg(long, short)]
    out: PathBuf,
}

/// Writes the serialised form.
pub fn run(args: &AsmArgs) -> Result<()> {
    let program = load(&args.program)?;
    let bytes = program
        .to_bytes()
        .map_err(|e| CliError::program(&args.program, e))?;
    put(Some(&args.out), &bytes)
}
