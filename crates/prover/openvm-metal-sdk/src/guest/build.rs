//! Builds a guest: `openvm_init.rs` from its configuration, then cargo.

use std::{
    fs,
    io::{self, BufRead, BufReader, IsTerminal, Read, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use openvm_build::RUSTC_TARGET;
use openvm_circuit::arch::InitFileGenerator;
use serde::Deserialize;

use super::{
    error::GuestError,
    flags::{
        cargo_arguments, encoded_rust_flags, renamed_paths, symbol_flags, user_flags, UserFlags,
    },
    hint::Hint,
    package::{config_of, Metadata},
    record::BuildRecord,
    strip::without_symbols,
    toolchain::Toolchain,
};
use crate::whole_file;

/// The file that declares the configuration's moduli and curves to the guest, as `openvm::init!()` includes it.
const INIT_FILE: &str = "openvm_init.rs";

/// The folder below cargo's target folder where files of OpenVM go.
pub const OUTPUT_FOLDER: &str = "openvm";

/// The program that stands between cargo and rustc.
const WRAPPER: &str = include_str!("rustc.sh");

/// Bytes of cargo's output that are kept to find a hint.
const KEPT_OUTPUT: usize = 1 << 16;

/// Settings of a guest's build.
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
    /// The folder where cargo builds; the package's own target folder if absent.
    pub target_dir: Option<PathBuf>,
    /// Refuse if `Cargo.lock` would change.
    pub locked: bool,
    /// Further arguments of `cargo build`, as `--offline` or `--all-features`.
    pub cargo_args: Vec<String>,
}

/// A built guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The ELF that is proved, without symbols.
    pub elf: PathBuf,
    /// The same with symbols and line tables, unless the user's flags take them away.
    pub symbols: PathBuf,
    /// The package's target folder.
    pub target_dir: PathBuf,
    /// The program's name.
    pub program: String,
    /// Settings that decided the executable, besides the sources.
    pub record: BuildRecord,
}

/// A step of a build, or something that the user should know about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Notice<'a> {
    /// rustup installs this toolchain.
    InstallToolchain(&'a str),
    /// rustup adds the sources of the standard library to this toolchain.
    InstallSources(&'a str),
    /// rustc gets flags of the user, from these variables or keys of cargo's configuration.
    Flags { from: &'a str, flags: &'a [String] },
    /// This variable does not reach the guest's build.
    LeftOut(&'a str),
    /// Cargo builds this program with this toolchain.
    Build {
        program: &'a str,
        toolchain: &'a str,
    },
    /// This package lies outside of the guest's workspace: the executable depends on its path.
    Outside(&'a str),
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
    let user = user_flags(&toolchain, &folder, &options.cargo_args)?;
    if !user.flags.is_empty() {
        let (from, flags) = (&user.from[..], &user.flags[..]);
        notice(Notice::Flags { from, flags });
    }
    for variable in ["CARGO_TARGET_DIR", "CARGO_BUILD_TARGET_DIR"] {
        if options.target_dir.is_none() && std::env::var_os(variable).is_some() {
            notice(Notice::LeftOut(variable));
        }
    }
    notice(Notice::Build {
        program: &program,
        toolchain: toolchain.name(),
    });

    let given = options.target_dir.as_ref();
    let target_dir = given.unwrap_or(&metadata.target_directory);
    fs::create_dir_all(target_dir).map_err(GuestError::io(target_dir))?;
    let target_dir = target_dir
        .canonicalize()
        .map_err(GuestError::io(target_dir))?;
    let results = target_dir.join(OUTPUT_FOLDER);
    refuse_link(&results)?;
    refuse_link(&results.join(options.profile.as_deref().unwrap_or("release")))?;
    let job = Job {
        folder: &folder,
        options,
        toolchain: &toolchain,
        metadata: &metadata,
        program: &program,
        target_dir: &target_dir,
    };
    // The folders of registries are there from now on.
    job.fetch()?;
    job.forget_other_workspaces()?;
    let symbols = job.compile(&user, notice)?;
    let elf = job.strip(&symbols)?;
    let record = BuildRecord {
        rustc: toolchain.version()?,
        profile: job.profile().to_owned(),
        profile_variables: BuildRecord::variables_of_profiles(),
        features: options.features.clone(),
        cargo_args: options.cargo_args.clone(),
        rustflags: user.flags,
        lock_sha256: BuildRecord::hash_of_lock(&metadata.workspace_root)?,
    };
    Ok(Built {
        elf,
        symbols,
        target_dir,
        program,
        record,
    })
}

/// The target folder of the guest in `folder`, which may not be there yet. Nothing is built.
///
/// # Errors
/// Errors of a folder that is not a guest, and of a missing toolchain that rustup cannot install. [`GuestError::TargetOutside`] if the guest's
/// files place it outside of its workspace, and `options` name none.
pub fn target_dir(
    folder: &Path,
    options: &BuildOptions,
    notice: &dyn Fn(Notice<'_>),
) -> Result<PathBuf, GuestError> {
    if let Some(given) = &options.target_dir {
        return Ok(given.clone());
    }
    let folder = folder.canonicalize().map_err(GuestError::io(folder))?;
    let toolchain = Toolchain::ensure(options.toolchain.as_deref(), notice)?;
    let metadata = Metadata::of(&folder, &toolchain)?;
    let target = metadata.target_directory;
    match lies_in(&target, &metadata.workspace_root)? {
        true => Ok(target),
        false => Err(GuestError::TargetOutside {
            target,
            workspace: metadata.workspace_root,
        }),
    }
}

/// True if a path, which may not be there yet, lies in a folder once links are followed.
fn lies_in(path: &Path, folder: &Path) -> Result<bool, GuestError> {
    let folder = folder.canonicalize().map_err(GuestError::io(folder))?;
    // A link that names nothing is there, and leads to another place.
    let mut there = path
        .ancestors()
        .filter(|path| path.symlink_metadata().is_ok());
    let place = there.next().unwrap_or(path);
    Ok(place
        .canonicalize()
        .is_ok_and(|place| place.starts_with(folder)))
}

/// Refuses a link in place of a folder of results.
fn refuse_link(folder: &Path) -> Result<(), GuestError> {
    match folder.is_symlink() {
        true => Err(GuestError::Link(folder.to_owned())),
        false => Ok(()),
    }
}

/// The build of one program.
struct Job<'a> {
    folder: &'a Path,
    options: &'a BuildOptions,
    toolchain: &'a Toolchain,
    metadata: &'a Metadata,
    program: &'a str,
    target_dir: &'a Path,
}

impl Job<'_> {
    fn profile(&self) -> &str {
        self.options.profile.as_deref().unwrap_or("release")
    }

    /// A command of the guest's cargo, in the guest's folder, whose configuration it reads.
    fn cargo(&self) -> Command {
        let mut command = self.toolchain.cargo();
        command
            .env("RUSTC_BOOTSTRAP", "1")
            .current_dir(self.folder)
            .stdin(Stdio::null());
        command
    }

    fn manifest(&self) -> PathBuf {
        self.folder.join("Cargo.toml")
    }

    fn failure(&self, status: impl ToString, hint: Option<Hint>) -> GuestError {
        GuestError::Cargo {
            path: self.folder.to_owned(),
            status: status.to_string(),
            hint,
        }
    }

    /// Downloads the sources of dependencies.
    fn fetch(&self) -> Result<(), GuestError> {
        let mut command = self.cargo();
        command
            .args(["fetch", "--target", RUSTC_TARGET, "--manifest-path"])
            .arg(self.manifest())
            .args(network_arguments(&self.options.cargo_args))
            .stdout(Stdio::null());
        if self.options.locked {
            command.arg("--locked");
        }
        let status = command.status().map_err(GuestError::NoRustup)?;
        match status.success() {
            true => Ok(()),
            false => Err(self.failure(status, None)),
        }
    }

    /// Removes what packages of the same names in other workspaces left in a target folder that is shared: cargo tells packages
    /// by their names, and files by the times of their last change.
    fn forget_other_workspaces(&self) -> Result<(), GuestError> {
        let workspace = &self.metadata.workspace_root;
        if self.target_dir.starts_with(workspace) {
            return Ok(());
        }
        let folder = self.target_dir.join(OUTPUT_FOLDER).join("workspaces");
        fs::create_dir_all(&folder).map_err(GuestError::io(&folder))?;
        for (name, id) in self.metadata.packages() {
            let marker = folder.join(format!("{name}.{}", self.profile()));
            let path = workspace.display().to_string();
            match fs::read_to_string(&marker) {
                Ok(present) if present == path => continue,
                Ok(_) => {
                    let mut command = self.cargo();
                    command
                        .args(["clean", "--quiet", "-p", id, "--target", RUSTC_TARGET])
                        .args(["--profile", self.profile(), "--manifest-path"])
                        .arg(self.manifest())
                        .arg("--target-dir")
                        .arg(self.target_dir)
                        .stdout(Stdio::null());
                    let status = command.status().map_err(GuestError::NoRustup)?;
                    if !status.success() {
                        return Err(self.failure(status, None));
                    }
                }
                Err(_) => {}
            }
            whole_file::replace(&marker, path.as_bytes()).map_err(GuestError::io(&marker))?;
        }
        Ok(())
    }

    /// Runs `cargo build`, and returns the ELF.
    fn compile(
        &self,
        user: &UserFlags,
        notice: &dyn Fn(Notice<'_>),
    ) -> Result<PathBuf, GuestError> {
        let wrapper = self.target_dir.join(OUTPUT_FOLDER).join("rustc.sh");
        write_program(&wrapper, WRAPPER)?;
        let renamed = renamed_paths(&cargo_home(), &self.toolchain.sysroot, self.target_dir);
        let more = [&symbol_flags()[..], &user.flags].concat();
        let mut command = self.cargo();
        command
            .args(cargo_arguments())
            .args(["--message-format", "json-render-diagnostics"])
            .args(["--bin", self.program, "--profile", self.profile()])
            .arg("--manifest-path")
            .arg(self.manifest())
            .arg("--target-dir")
            .arg(self.target_dir)
            .env(
                "CARGO_ENCODED_RUSTFLAGS",
                encoded_rust_flags(&renamed, &more),
            )
            // Parts that were compiled at different times would give other bytes.
            .env("CARGO_INCREMENTAL", "0")
            .env("RUSTC_WRAPPER", wrapper)
            .env("OPENVM_METAL_WORKSPACE", &self.metadata.workspace_root);
        if self.options.locked {
            command.arg("--locked");
        }
        if !self.options.features.is_empty() {
            command.args(["--features", &self.options.features.join(",")]);
        }
        command.args(&self.options.cargo_args);
        if io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
            command.env("CARGO_TERM_COLOR", "always");
        }

        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(GuestError::NoRustup)?;
        let stderr = child.stderr.take();
        let output = thread::spawn(move || stderr.map(pass_on).unwrap_or_default());
        let elf = child.stdout.take().map(|stdout| self.elf(stdout, notice));
        let elf = match elf.transpose() {
            Ok(elf) => elf.flatten(),
            Err(error) => {
                // Cargo would go on without a reader. One that has ended is no error.
                let _ = child.kill();
                let _ = child.wait();
                return Err(GuestError::io(self.folder)(error));
            }
        };
        let status = child.wait().map_err(GuestError::io(self.folder))?;
        let output = output.join().unwrap_or_default();
        match elf {
            Some(elf) if status.success() => Ok(elf),
            _ => {
                let own: Vec<&str> = self.metadata.packages().map(|(name, _)| name).collect();
                Err(self.failure(status, Hint::of(&output, &own)))
            }
        }
    }

    /// The ELF that cargo names in its messages, the last one if it names several.
    fn elf(&self, messages: impl Read, notice: &dyn Fn(Notice<'_>)) -> io::Result<Option<PathBuf>> {
        let mut elf = None;
        for line in BufReader::new(messages).split(b'\n') {
            // Procedural macros of the guest may print to the same stream, and not only text.
            if let Ok(artifact) = serde_json::from_slice::<Artifact>(&line?) {
                if let Some(folder) = artifact.folder().filter(|folder| self.is_outside(folder)) {
                    notice(Notice::Outside(&folder.display().to_string()));
                }
                elf = artifact.executable_of(self.program).or(elf);
            }
        }
        Ok(elf)
    }

    /// Writes the ELF without its symbols, `openvm/PROFILE/NAME.elf` in the target folder.
    fn strip(&self, symbols: &Path) -> Result<PathBuf, GuestError> {
        let bytes = fs::read(symbols).map_err(GuestError::io(symbols))?;
        let bytes = without_symbols(&bytes).map_err(|reason| GuestError::Elf {
            path: symbols.to_owned(),
            reason,
        })?;
        let folder = self.target_dir.join(OUTPUT_FOLDER).join(self.profile());
        fs::create_dir_all(&folder).map_err(GuestError::io(&folder))?;
        let path = folder.join(format!("{}.elf", self.program));
        // A link in its place goes; what it names stays.
        whole_file::replace(&path, &bytes).map_err(GuestError::io(&path))?;
        Ok(path)
    }

    /// True if a package lies neither in the workspace nor in the toolchain.
    fn is_outside(&self, package: &Path) -> bool {
        let whole = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let inside = [&self.metadata.workspace_root, &self.toolchain.sysroot];
        let package = whole(package);
        !inside
            .iter()
            .any(|folder| package.starts_with(whole(folder)))
    }
}

/// Passes cargo's standard error on as it comes, and returns the end of it.
fn pass_on(mut from: impl Read) -> String {
    let (mut kept, mut buffer) = (Vec::new(), [0; 4096]);
    let mut stderr = io::stderr();
    while let Ok(count) = from.read(&mut buffer) {
        if count == 0 {
            break;
        }
        // A standard error that is closed is nothing that a build needs.
        let _ = stderr.write_all(&buffer[..count]);
        kept.extend_from_slice(&buffer[..count]);
        let surplus = kept.len().saturating_sub(KEPT_OUTPUT);
        kept.drain(..surplus);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

/// The arguments of `cargo build` that `cargo fetch` takes, too.
fn network_arguments(cargo_args: &[String]) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = cargo_args.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        match argument {
            "--offline" | "--frozen" | "--locked" | "-q" | "--quiet" => found.push(argument),
            "--config" => {
                found.push(argument);
                found.extend(rest.next());
            }
            _ if argument.starts_with("--config=") => found.push(argument),
            _ => {}
        }
    }
    found
}

/// A message of cargo's about something that it made.
#[derive(Deserialize)]
struct Artifact {
    package_id: String,
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

    /// The folder of a package that is no download.
    fn folder(&self) -> Option<PathBuf> {
        let rest = self.package_id.strip_prefix("path+file://")?;
        Some(rest.split('#').next().unwrap_or(rest).into())
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
    // A link in its place goes; what it names stays.
    whole_file::replace(path, contents.as_bytes()).map_err(GuestError::io(path))
}

/// Writes a program of the shell unless it is there: one file takes the place of another whole, so that no build reads half of it.
fn write_program(path: &Path, contents: &str) -> Result<(), GuestError> {
    static WRITTEN: AtomicUsize = AtomicUsize::new(0);
    let is_executable = |path: &Path| {
        fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 == 0o111)
    };
    if fs::read(path).is_ok_and(|present| present == contents.as_bytes()) && is_executable(path) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder).map_err(GuestError::io(folder))?;
    // Another name for each build of this process, too.
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    let new = path.with_extension(format!("new-{}-{number}", std::process::id()));
    fs::write(&new, contents).map_err(GuestError::io(&new))?;
    fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).map_err(GuestError::io(&new))?;
    fs::rename(&new, path).map_err(GuestError::io(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wrapper that lost its permission would fail every later build of its target folder.
    #[test]
    fn programs_are_executable() {
        let folder = std::env::temp_dir().join(format!("write-program-{}", std::process::id()));
        let path = folder.join("rustc.sh");
        let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
        write_program(&path, "true\n").expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("permissions");
        write_program(&path, "true\n").expect("a file");
        assert_eq!(mode(&path), 0o755);
        assert_eq!(fs::read(&path).expect("a file"), b"true\n");
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn arguments_of_downloads() {
        let args = [
            "--all-features",
            "--offline",
            "-j",
            "2",
            "--config",
            "net.retry=3",
            "--frozen",
        ];
        let args = args.map(String::from);
        assert_eq!(
            network_arguments(&args),
            ["--offline", "--config", "net.retry=3", "--frozen"]
        );
    }
}
