//! `hologram disasm`.

use std::path::PathBuf;

use clap::Args;

use super::{load, put};
use crate::error::Result;

/// Arguments of `disasm`.
#[derive(Args, Debug)]
pub struct DisasmArgs {
    /// The program, serialised or text.
    program: PathBuf,
    /// File of the text instead of standard output.
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Add a comment with its pc to each instruction.
    #[arg(long)]
    pc: bool,
}

/// Writes the text.
pub fn run(args: &DisasmArgs) -> Result<()> {
    let mut text = load(&args.program)?.to_string();
    if args.pc {
        text = numbered(&text);
    }
    put(args.out.as_ref(), text.as_bytes())
}

/// The text with each instruction's pc in a comment.
fn numbered(text: &str) -> String {
    let mut pc = 0;
    let mut out = String::new();
    for line in text.lines() {
        if line.starts_with('@') {
            out.push_str(line);
        } else {
            out.push_str(&format!("{line:<48} ; {pc}"));
            pc += 1;
        }
        out.push('\n');
    }
    out
}
