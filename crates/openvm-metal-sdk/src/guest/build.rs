//! Builds a guest: `openvm_init.rs` from its configuration, then cargo.

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::Stdio,
};

use openvm_circuit::arch::InitFileGenerator;
use serde::Deserialize;

use super::{
    error::GuestError,
    flags::{cargo_arguments, encoded_rust_flags, renamed_paths},
    package::{config_of, Metadata},
    toolchain::Toolchain,
};

/// The file that declares the configuration's moduli and curves to the guest, as `openvm::init!()` includes it.
const INIT_FILE: &str = "openvm_init.rs";

/// How a guest is built.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// The toolchain, by rustup's name; if absent, `OPENVM_RUST_TOOLCHAIN`, or `stable`.
    pub toolchain: Option<String>,
    /// Cargo's profile; `release` if absent.
    pub profile: Option<String>,
    /// Features of the package.
    pub features: Vec<String>,
    /// The program, if the package has several.
    pub program: Option<String>,
    /// Where cargo builds; the package's own target folder if absent.
    pub target_dir: Option<PathBuf>,
    /// Refuse if `Cargo.lock` would change.
    pub locked: bool,
}

/// A built guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The ELF.
    pub elf: PathBuf,
    /// The package's target folder.
    pub target_dir: PathBuf,
    /// The program's name.
    pub program: String,
}

/// What is about to happen, for the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// rustup installs this toolchain.
    InstallToolchain(&'a str),
    /// rustup adds the sources of the standard library to this toolchain.
    InstallSources(&'a str),
    /// Cargo builds this program with this toolchain.
    Build {
        program: &'a str,
        toolchain: &'a str,
    },
}

/// Builds the guest in `folder`. Cargo and rustup print their progress to standard error.
///
/// # Errors
/// If the folder is not a guest, something is missing that rustup cannot install, or the guest does not compile.
pub fn build(
    folder: &Path,
    options: &BuildOptions,
    notice: &dyn Fn(Notice<'_>),
) -> Result<Built, GuestError> {
    let folder = folder.canonicalize().map_err(GuestError::io(folder))?;
    let config = config_of(&folder)?;
    let toolchain = Toolchain::ensure(options.toolchain.as_deref(), notice)?;
    let metadata = Metadata::of(&folder, &toolchain)?;
    let program = metadata.program(&folder, options.program.as_deref())?;
    if let Some(contents) = config.generate_init_file_contents() {
        write_if_other(&folder.join(INIT_FILE), &contents)?;
    }
    notice(Notice::Build {
        program: &program,
        toolchain: toolchain.name(),
    });

    let target_dir = options
        .target_dir
        .clone()
        .unwrap_or(metadata.target_directory);
    let renamed = renamed_paths(&metadata.workspace_root, &cargo_home(), &toolchain.sysroot);
    let mut command = toolchain.cargo();
    command
        .args(cargo_arguments())
        .args([
            "--message-format",
            "json-render-diagnostics",
            "--bin",
            &program,
        ])
        .args(["--profile", options.profile.as_deref().unwrap_or("release")])
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target_dir)
        // The standard library is built with the guest, which stable toolchains do only when told so.
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_ENCODED_RUSTFLAGS", encoded_rust_flags(&renamed))
        .current_dir(&metadata.workspace_root);
    if options.locked {
        command.arg("--locked");
    }
    if !options.features.is_empty() {
        command.args(["--features", &options.features.join(",")]);
    }

    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .map_err(GuestError::NoRustup)?;
    let mut elf = None;
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line.map_err(GuestError::io(&folder))?;
            // Procedural macros of the guest may print to the same stream.
            if let Ok(artifact) = serde_json::from_str::<Artifact>(&line) {
                elf = artifact.executable_of(&program).or(elf);
            }
        }
    }
    let status = child.wait().map_err(GuestError::io(&folder))?;
    match elf {
        Some(elf) if status.success() => Ok(Built {
            elf,
            target_dir,
            program,
        }),
        _ => Err(GuestError::Cargo {
            path: folder,
            status: status.to_string(),
        }),
    }
}

/// A message of cargo's about something that it made.
#[derive(Deserialize)]
struct Artifact {
    target: ArtifactTarget,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct ArtifactTarget {
    name: String,
    kind: Vec<String>,
}

impl Artifact {
    fn executable_of(self, program: &str) -> Option<PathBuf> {
        let is_program = self.target.name == program && self.target.kind.iter().any(|k| k == "bin");
        self.executable.filter(|_| is_program)
    }
}

fn cargo_home() -> PathBuf {
    let given = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = given.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let home = home.unwrap_or_else(|| ".cargo".into());
    home.canonicalize().unwrap_or(home)
}

/// Writes a file unless it has these contents, so that cargo does not build again.
fn write_if_other(path: &Path, contents: &str) -> Result<(), GuestError> {
    if fs::read_to_string(path).is_ok_and(|present| present == contents) {
        return Ok(());
    }
    fs::write(path, contents).map_err(GuestError::io(path))
}
