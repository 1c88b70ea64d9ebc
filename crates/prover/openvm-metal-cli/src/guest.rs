//! `openvm-metal init` and `openvm-metal build`: guests, made and built.

mod check;

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use openvm_metal_sdk::{files, guest};
use serde::Serialize;

use crate::{
    error::{CliError, Result},
    interrupt,
    program::{store_config, Program, ProgramArgs},
    table::{self, note},
};

#[derive(Args, Debug)]
pub struct InitArgs {
    /// Folder of the package: a new one or an empty one, for example `.`; its name is the name of the package.
    folder: PathBuf,
    /// Make the guest only, without a host program.
    #[arg(long, conflicts_with = "sdk")]
    guest_only: bool,
    /// Let the host program depend on the crate openvm-metal-sdk in FOLDER [default: the crate in the checkout of this command or of
    /// the working directory].
    #[arg(long, value_name = "FOLDER")]
    sdk: Option<PathBuf>,
}

impl InitArgs {
    /// The crate that the host program depends on.
    fn sdk(&self) -> Option<PathBuf> {
        if self.guest_only || self.sdk.is_some() {
            return self.sdk.clone();
        }
        let command = std::env::current_exe().and_then(fs::canonicalize);
        let places = [command.ok(), std::env::current_dir().ok()];
        let mut crates = places
            .iter()
            .flatten()
            .flat_map(|place| place.ancestors())
            .map(|folder| folder.join("crates/prover/openvm-metal-sdk"));
        crates.find(|sdk| sdk.join("Cargo.toml").is_file())
    }
}

/// Runs `openvm-metal init`.
///
/// # Errors
/// If the folder cannot be made, or its name is no valid name of a package.
pub fn init(args: &InitArgs) -> Result<()> {
    let sdk = args.sdk();
    if let Some(missing) = sdk.as_ref().filter(|sdk| !sdk.join("Cargo.toml").is_file()) {
        return Err(CliError::NoSdk(missing.clone()));
    }
    // `.` and `..` have names, too.
    let whole = args.folder.canonicalize();
    guest::init(whole.as_ref().unwrap_or(&args.folder), sdk.as_deref())?;
    let folder = args.folder.display();
    table::line(format!(
        "{folder} is a guest. Next:\n  \
         openvm-metal run {folder} --input {folder}/input.json\n  \
         openvm-metal prove stark {folder} --input {folder}/input.json"
    ))?;
    match sdk {
        Some(_) => table::line(format!(
            "{folder}/host is a program that builds and proves it:\n  \
             cargo test --manifest-path {folder}/host/Cargo.toml"
        ))?,
        None if !args.guest_only => note(
            "no host program: it depends on the crate openvm-metal-sdk, whose folder in a checkout is named by --sdk",
        ),
        None => {}
    }
    Ok(())
}

#[derive(Args, Debug)]
pub struct GuestArgs {
    #[command(flatten)]
    program: ProgramArgs,
    /// Build in a temporary folder and compare the result with FILE: a .vmexe, an ELF, or the JSON of a commitment or a baseline.
    ///
    /// Prints the differences and writes nothing.
    #[arg(long, value_name = "FILE")]
    check: Option<PathBuf>,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

/// A guest that was built.
#[derive(Serialize)]
struct BuildReport {
    program: String,
    /// ELF without symbols, as it is proved.
    elf: Option<PathBuf>,
    elf_bytes: Option<u64>,
    /// The same with symbols and line tables.
    symbols: Option<PathBuf>,
    vmexe: PathBuf,
    instructions: usize,
}

/// Runs `openvm-metal build`.
///
/// # Errors
/// Fails if the guest does not build, its configuration lacks an extension, or it is not the executable to compare with.
pub fn build(args: &GuestArgs) -> Result<()> {
    interrupt::at_once();
    if let Some(file) = &args.check {
        return check::check(&args.program, file, args.json);
    }
    let program = Program::load(&args.program)?;
    let exe = program.executable()?;
    let vmexe = program.output(&format!("{}.vmexe", program.name));
    program.make_folder()?;
    files::write_exe(&vmexe, &exe)?;
    if let Some(built) = &program.built {
        // The executable is run with the configuration that it was made with.
        store_config(program.settings.config.as_ref(), &vmexe)?;
        built.record.write(&record_of(&vmexe))?;
    }
    let report = BuildReport {
        elf_bytes: program
            .elf
            .as_ref()
            .and_then(|elf| Some(elf.metadata().ok()?.len())),
        symbols: program.symbols_file().map(PathBuf::from),
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
    if report.symbols != report.elf {
        if let Some(symbols) = &report.symbols {
            table::line(format!("symbols     {}", symbols.display()))?;
        }
    }
    table::line(format!(
        "executable  {} ({} instructions)",
        report.vmexe.display(),
        report.instructions
    ))
}

/// The settings of the build that made an executable, beside it.
fn record_of(executable: &Path) -> PathBuf {
    executable.with_extension("build.json")
}
