//! `hologram emit-msl`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use hologram_backends::translate::{emit_msl, Options};
use hologram_backends::validate::validate;

use super::{load, put};
use crate::error::Result;
use crate::spec::RegisterSpec;

/// Arguments of `emit-msl`.
#[derive(Args, Debug)]
pub struct EmitMslArgs {
    /// The program, serialised or text.
    program: PathBuf,
    /// File of the text instead of standard output.
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Emit for an Apple GPU, which has no f64.
    #[arg(long)]
    apple: bool,
    /// A register that is preset; the number does not matter.
    #[arg(long = "register", value_name = "rN=@BUFFER|[TYPE:]NUMBER")]
    registers: Vec<RegisterSpec>,
}

/// Translates the program.
pub fn run(args: &EmitMslArgs) -> Result<()> {
    let program = load(&args.program)?;
    // Of a register named twice the last counts.
    let initial: BTreeMap<_, _> = args
        .registers
        .iter()
        .map(|spec| (spec.register, spec.ty()))
        .collect();
    let initial: Vec<_> = initial.into_iter().collect();
    validate(&program, &initial)?;
    let options = Options {
        apple: args.apple,
        initial,
        ..Options::default()
    };
    put(args.out.as_ref(), emit_msl(&program, &options)?.as_bytes())
}
