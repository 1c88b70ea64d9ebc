//! `openvm-metal init` and `openvm-metal build`: guests, made and built.

use std::path::PathBuf;

use clap::Args;
use openvm_metal_sdk::{files, guest};
use serde::Serialize;

use crate::{
    error::Result,
    interrupt,
    program::{Program, ProgramArgs},
    table,
};

#[derive(Args, Debug)]
pub struct InitArgs {
    /// The folder, which is made, or is empty, as `.` may be; its name is the package's.
    folder: PathBuf,
}

/// Runs `openvm-metal init`.
///
/// # Errors
/// If the folder cannot be made, or its name is no valid name of a package.
pub fn init(args: &InitArgs) -> Result<()> {
    // `.` and `..` have names, too.
    let whole = args.folder.canonicalize();
    guest::init(whole.as_ref().unwrap_or(&args.folder))?;
    let folder = args.folder.display();
    table::line(format!(
        "{folder} is a guest. Next:\n  \
         openvm-metal run {folder} --input {folder}/input.json\n  \
         openvm-metal prove stark {folder} --input {folder}/input.json"
    ))
}

#[derive(Args, Debug)]
pub struct GuestArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

/// What was built.
#[derive(Serialize)]
struct BuildReport {
    program: String,
    elf: Option<PathBuf>,
    elf_bytes: Option<u64>,
    vmexe: PathBuf,
    instructions: usize,
}

/// Runs `openvm-metal build`.
///
/// # Errors
/// If the guest does not build, or its configuration lacks an extension.
pub fn build(args: &GuestArgs) -> Result<()> {
    interrupt::at_once();
    let program = Program::load(&args.program)?;
    let exe = program.executable()?;
    let vmexe = program.output(&format!("{}.vmexe", program.name));
    files::write_exe(&vmexe, &exe)?;
    let report = BuildReport {
        elf_bytes: program
            .elf
            .as_ref()
            .and_then(|elf| Some(elf.metadata().ok()?.len())),
        elf: program.elf,
        program: program.name,
        vmexe,
        instructions: exe.program.num_defined_instructions(),
    };
    if args.json {
        return table::json(&report);
    }
    if let (Some(elf), Some(bytes)) = (&report.elf, report.elf_bytes) {
        table::line(format!(
            "ELF         {} ({})",
            elf.display(),
            table::bytes(bytes)
        ))?;
    }
    table::line(format!(
        "executable  {} ({} instructions)",
        report.vmexe.display(),
        report.instructions
    ))
}
