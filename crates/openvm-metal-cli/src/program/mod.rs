//! The program of a command: a guest's folder, an ELF or a `.vmexe`, and the configuration it runs under.

mod cargo;
mod input;
mod printed;
mod sdk;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use openvm_circuit::arch::instructions::exe::VmExe;
use openvm_metal_sdk::{executable, files, guest::CONFIG_FILE};
use openvm_sdk::{config::AppConfig, types::ExecutableFormat, F};
use openvm_sdk_config::SdkVmConfig;
use openvm_transpiler::elf::Elf;

use self::cargo::CargoArgs;
pub use self::{
    input::InputArgs,
    printed::PrintedToStderr,
    sdk::{byte_count, ExecutionArgs, SdkArgs},
};
use crate::{
    error::{CliError, Result},
    file::Named,
    table::note,
};

/// Which program.
#[derive(Args, Debug)]
pub struct ProgramArgs {
    /// A guest's folder, which is built first; or an ELF; or a .vmexe.
    #[arg(default_value = ".")]
    program: PathBuf,
    /// The configuration: extensions and their settings; if absent, openvm.toml beside the program.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(flatten)]
    cargo: CargoArgs,
}

impl ProgramArgs {
    /// Where the program is.
    ///
    /// # Errors
    /// If there is none, or it is a file and options say how to build it.
    fn path(&self) -> Result<&Path> {
        let path = &self.program;
        if !path.exists() {
            return Err(CliError::NoProgram(path.clone()));
        }
        if !path.is_dir() && self.cargo.is_given() {
            return Err(CliError::Usage(
                "--toolchain, --profile, --features, --bin, --target-dir and --locked say how a guest's folder is built, and the \
                 program is a file",
            ));
        }
        Ok(path)
    }

    /// The files of the command line that are read.
    pub fn read_files(&self) -> impl Iterator<Item = Named<'_>> {
        let config = self.config.as_deref().map(|file| ("--config", file));
        std::iter::once(("the program", self.program.as_path())).chain(config)
    }

    /// The file of the program, which is built if it is a guest's folder, and that of its configuration, if there is one.
    ///
    /// # Errors
    /// If there is no program, or it cannot be built.
    pub fn files(&self) -> Result<(PathBuf, Option<PathBuf>)> {
        let path = self.path()?;
        let beside = config_beside(path);
        let config = self
            .config
            .clone()
            .or_else(|| beside.exists().then_some(beside));
        let file = if path.is_dir() {
            self.cargo.build(path)?.elf
        } else {
            path.to_owned()
        };
        Ok((file, config))
    }
}

/// Where a program's configuration is if no other is named.
fn config_beside(program: &Path) -> PathBuf {
    match (program.is_dir(), program.parent()) {
        (true, _) => program.join(CONFIG_FILE),
        (false, Some(parent)) => parent.join(CONFIG_FILE),
        (false, None) => CONFIG_FILE.into(),
    }
}

/// A program that was found, and built if it is a guest's folder.
pub struct Program {
    pub name: String,
    /// The ELF's file, if there is one.
    pub elf: Option<PathBuf>,
    /// Extensions and parameters; nothing if there is no `openvm.toml`.
    pub toml: Option<String>,
    source: Source,
    /// Where keys and executables go.
    folder: PathBuf,
}

enum Source {
    Elf(Elf),
    Exe(Arc<VmExe<F>>),
}

impl Program {
    /// Finds the program; builds it if it is a guest's folder.
    ///
    /// # Errors
    /// If it cannot be built or read, or is neither an ELF nor an executable.
    pub fn load(args: &ProgramArgs) -> Result<Self> {
        let path = args.path()?;
        let toml = config_text(args.config.as_deref(), &config_beside(path))?;
        if path.is_dir() {
            let built = args.cargo.build(path)?;
            return Ok(Self {
                source: Source::Elf(files::read_elf(&built.elf)?),
                folder: built.target_dir.join("openvm"),
                name: built.program,
                elf: Some(built.elf),
                toml,
            });
        }
        let name = path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let (source, elf) = if path.extension() == Some(OsStr::new("vmexe")) {
            (Source::Exe(Arc::new(files::read_exe(path)?)), None)
        } else {
            (Source::Elf(files::read_elf(path)?), Some(path.to_owned()))
        };
        let folder = PathBuf::new();
        Ok(Self {
            name,
            elf,
            toml,
            source,
            folder,
        })
    }

    /// What executes.
    pub fn source(&self) -> ExecutableFormat {
        match &self.source {
            Source::Elf(elf) => ExecutableFormat::Elf(elf.clone()),
            Source::Exe(exe) => ExecutableFormat::SharedVmExe(exe.clone()),
        }
    }

    /// The executable under the program's configuration.
    ///
    /// # Errors
    /// If the configuration does not parse, or lacks an extension.
    pub fn executable(&self) -> Result<Arc<VmExe<F>>> {
        Ok(executable(&self.config()?, self.source())?)
    }

    fn config(&self) -> Result<SdkVmConfig> {
        let Some(text) = &self.toml else {
            return Ok(SdkVmConfig::riscv32());
        };
        let config: AppConfig<SdkVmConfig> =
            toml::from_str(text).map_err(|error| CliError::Config(error.to_string()))?;
        Ok(config.app_vm_config)
    }

    /// A file among the program's keys and executables: in the guest's target folder, or here.
    pub fn output(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// The text of the configuration; without one, RV32IM with input and output, which is said.
fn config_text(given: Option<&Path>, beside: &Path) -> Result<Option<String>> {
    let path = match given {
        Some(path) => path,
        None if beside.exists() => beside,
        None => {
            note(format_args!(
                "{}: not there, the program gets RV32IM with input and output",
                beside.display()
            ));
            return Ok(None);
        }
    };
    Ok(Some(files::read_config(path)?))
}
