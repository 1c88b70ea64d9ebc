//! The program of a command: a guest's folder, an ELF or a `.vmexe`, and the configuration it runs under.

mod cargo;
mod config;
mod input;
mod placement;
mod printed;
mod sdk;
mod symbols;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    sync::Arc,
};

use clap::Args;
use openvm_circuit::arch::instructions::exe::VmExe;
use openvm_metal_sdk::{
    executable_with, files, guest::Built, ignored_traps, ignored_traps_of_elf, GuestElf,
    ProgramSource, Traps,
};
use openvm_sdk::F;
use openvm_sdk_config::SdkVmConfig;

#[cfg(feature = "reference")]
pub use self::input::stdin_of;
use self::{
    cargo::CargoArgs,
    config::Config,
    placement::{refuse_links, refuse_links_in},
};
pub use self::{
    config::store_config,
    input::InputArgs,
    printed::Printed,
    sdk::{byte_count, ExecutionArgs, SdkArgs},
};
use crate::{
    error::{CliError, Result},
    file::Read,
    table::note,
};

/// The program.
#[derive(Args, Clone, Debug)]
pub struct ProgramArgs {
    /// Program: a guest's folder, which is built first, an ELF, or a .vmexe.
    #[arg(default_value = ".")]
    program: PathBuf,
    /// Read the configuration, which has the extensions and their settings, from FILE [default: the guest's openvm.toml].
    ///
    /// The default for a program that is a file is the first of NAME.openvm.toml (from `build`) and openvm.toml in its folder, and
    /// openvm.toml of the cargo package around it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Translate `unimp` as cargo-openvm does, for the same commitment.
    ///
    /// `abort` and unreachable code compile to `unimp`. cargo-openvm's rule ignores it, and the guest goes on with the next function;
    /// our rule ends the guest with exit code 2.
    #[arg(long)]
    as_cargo_openvm: bool,
    #[command(flatten)]
    cargo: CargoArgs,
}

impl ProgramArgs {
    /// Path of the program.
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
                "--toolchain, --profile (of `run`: --cargo-profile), --features, --bin, --target-dir, --locked and arguments behind `--` say how a guest's folder \
                 is built, and the program is a file",
            ));
        }
        Ok(path)
    }

    /// The folder of keys: `openvm` in a guest's target folder, which is not built, or the working directory. `names` are the files' names there.
    ///
    /// # Errors
    /// Errors of a missing program and of a folder without a guest; a target folder outside of the guest's workspace that is not named by an
    /// option; [`CliError::Link`].
    pub fn key_folder(&self, names: &[&str]) -> Result<PathBuf> {
        let path = self.path()?;
        if !path.is_dir() {
            return Ok(PathBuf::new());
        }
        let target = self.cargo.target_dir(path)?;
        let folder = target.join("openvm");
        for result in names.iter().map(|name| folder.join(name)) {
            refuse_links(&target, &result, "--out")?;
            if result.is_dir() {
                refuse_links_in(&result, "--out")?;
            }
        }
        Ok(folder)
    }

    /// True if executables are made by cargo-openvm's rule.
    pub fn is_as_cargo_openvm(&self) -> bool {
        self.as_cargo_openvm
    }

    /// True if the program is a guest's folder.
    pub fn is_guest(&self) -> bool {
        self.program.is_dir()
    }

    /// The same guest, built in another target folder with the versions of `Cargo.lock`.
    pub fn again_in(&self, target_dir: &Path) -> Self {
        Self {
            cargo: self.cargo.again_in(target_dir),
            ..self.clone()
        }
    }

    /// The program and its configuration, which is named or found.
    pub fn read_files(&self) -> Vec<Read> {
        let config = match &self.config {
            Some(file) => Some(("--config", file.clone())),
            // One that is refused is told of when it is read.
            None => files::found_config(&self.program)
                .ok()
                .flatten()
                .map(|file| ("the configuration", file)),
        };
        let mut files = vec![("the program", self.program.clone())];
        files.extend(config);
        files
    }

    /// The file of the program, which is built if it is a guest's folder, and that of its configuration, if there is one.
    ///
    /// # Errors
    /// Errors of a program that is absent or cannot be built; [`CliError::Link`] as [`Program::make_folder`].
    pub fn files(&self) -> Result<(PathBuf, Option<PathBuf>)> {
        let path = self.path()?;
        let config = match &self.config {
            Some(file) => Some(file.clone()),
            None => files::found_config(path)?,
        };
        if !path.is_dir() {
            return Ok((path.to_owned(), config));
        }
        let elf = self.cargo.build(path)?.elf;
        // The package's command writes beside the ELF.
        elf.parent().map_or(Ok(()), refuse_linked_results)?;
        // It would look for a configuration beside the ELF, not in the guest's folder.
        let config = config.map_or_else(|| store_config(None, &elf), Ok)?;
        Ok((elf, Some(config)))
    }
}

/// The part of a program that keys depend on: nothing is built for it.
pub struct Settings {
    /// Extensions and parameters; nothing if there is no `openvm.toml`.
    pub config: Option<Config>,
    /// Rule for the traps of an ELF.
    pub traps: Traps,
}

impl Settings {
    /// Finds the configuration.
    ///
    /// # Errors
    /// Errors of a missing program and of a configuration that cannot be read.
    pub fn of(args: &ProgramArgs) -> Result<Self> {
        let config = Config::of(args.path()?, args.config.as_deref())?;
        let traps = match args.as_cargo_openvm {
            true => Traps::AsCargoOpenvm,
            false => Traps::End,
        };
        Ok(Self { config, traps })
    }
}

/// A program that was found, and built if it is a guest's folder.
pub struct Program {
    pub name: String,
    /// The guest's folder or the file.
    path: PathBuf,
    /// The ELF's file, if there is one.
    pub elf: Option<PathBuf>,
    /// The build, if the program is a guest's folder.
    pub built: Option<Built>,
    pub settings: Settings,
    source: Source,
    /// The folder of executables and commitments.
    folder: PathBuf,
}

enum Source {
    Elf(GuestElf),
    Exe(Arc<VmExe<F>>),
}

impl Program {
    /// Finds the program; builds it if it is a guest's folder.
    ///
    /// # Errors
    /// If it cannot be built or read, or is neither an ELF nor an executable.
    pub fn load(args: &ProgramArgs) -> Result<Self> {
        let program = Self::find(args)?;
        program.tell_of_traps(args)?;
        Ok(program)
    }

    /// Says how many traps the program ignores.
    fn tell_of_traps(&self, args: &ProgramArgs) -> Result<()> {
        const GOES_ON: &str = "a guest that aborts there goes on with the next function";
        let name = &self.name;
        match &self.source {
            Source::Elf(elf) => match (self.settings.traps, ignored_traps_of_elf(elf)) {
                (Traps::End, _) | (_, 0) => {}
                (_, n) => note(format_args!(
                    "{name}: --as-cargo-openvm: traps (unimp) of the ELF that do nothing: {n}; {GOES_ON}"
                )),
            },
            Source::Exe(_) if args.as_cargo_openvm => {
                return Err(CliError::Usage(
                    "--as-cargo-openvm says how an executable is made of an ELF, and the program is an executable",
                ))
            }
            Source::Exe(exe) => match ignored_traps(exe) {
                0 => {}
                n => note(format_args!(
                    "warning: {name}.vmexe: traps (unimp) of its code that do nothing: {n}; {GOES_ON}; to have them end the guest, make the \
                     executable of its ELF (openvm-metal build)"
                )),
            },
        }
        Ok(())
    }

    fn find(args: &ProgramArgs) -> Result<Self> {
        let path = args.path()?;
        let settings = Settings::of(args)?;
        if path.is_dir() {
            let built = args.cargo.build(path)?;
            return Ok(Self {
                source: Source::Elf(files::read_elf(&built.elf)?),
                folder: built.target_dir.join("openvm").join(args.cargo.profile()),
                path: path.to_owned(),
                name: built.program.clone(),
                elf: Some(built.elf.clone()),
                built: Some(built),
                settings,
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
        Ok(Self {
            name,
            path: path.to_owned(),
            elf,
            built: None,
            settings,
            source,
            folder: PathBuf::new(),
        })
    }

    /// The ELF with the program's symbols, if there is one: the file itself may have them.
    pub fn symbols_file(&self) -> Option<&Path> {
        let built = self.built.as_ref().map(|built| &*built.symbols);
        built.or(self.elf.as_deref())
    }

    /// Executable of the program.
    pub fn source(&self) -> ProgramSource {
        match &self.source {
            Source::Elf(elf) => elf.clone().into(),
            Source::Exe(exe) => exe.clone().into(),
        }
    }

    /// The executable under the program's configuration.
    ///
    /// # Errors
    /// If the configuration does not parse, or lacks an extension.
    pub fn executable(&self) -> Result<Arc<VmExe<F>>> {
        Ok(executable_with(
            &self.vm_config(),
            self.source(),
            self.settings.traps,
        )?)
    }

    /// The program's extensions.
    pub fn vm_config(&self) -> SdkVmConfig {
        let riscv = SdkVmConfig::riscv32;
        self.settings
            .config
            .as_ref()
            .map_or_else(riscv, |config| config.parsed.config.app_vm_config.clone())
    }

    /// A file among the program's executables and commitments: `openvm/PROFILE` in the guest's target folder, or here.
    pub fn output(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Makes the folder of the program's executables and commitments if it is missing.
    ///
    /// # Errors
    /// [`CliError::Write`]; [`CliError::Link`] if there is a link in the folder of a guest; [`CliError::Read`] if it cannot be listed.
    pub fn make_folder(&self) -> Result<()> {
        if self.folder.as_os_str().is_empty() {
            return Ok(());
        }
        if self.built.is_some() {
            refuse_linked_results(&self.folder)?;
        }
        std::fs::create_dir_all(&self.folder).map_err(|source| CliError::Write {
            path: self.folder.display().to_string(),
            source,
        })
    }

    /// A file of commitments: with the executables of a guest's folder; else beside the proof, or here if that goes to a device.
    pub fn output_beside(&self, proof: &Path, name: &str) -> PathBuf {
        let is_device = proof.exists() && !proof.is_file();
        match (self.folder.as_os_str().is_empty(), is_device) {
            (true, false) => proof.with_file_name(name),
            _ => self.output(name),
        }
    }
}

/// Refuses links in `openvm/PROFILE` of a guest that was built.
fn refuse_linked_results(folder: &Path) -> Result<()> {
    refuse_links_in(folder, "--target-dir; of `commit`: --out")
}
