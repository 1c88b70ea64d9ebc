//! The toolchain that guests are built with: any that rustup has, with the sources of the standard library.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{build::Notice, error::GuestError};

/// The toolchain unless another is asked for.
pub const DEFAULT_TOOLCHAIN: &str = "stable";
/// Names the toolchain, as it does for cargo-openvm.
pub const TOOLCHAIN_VARIABLE: &str = "OPENVM_RUST_TOOLCHAIN";

/// A toolchain with what guests need.
pub struct Toolchain {
    name: String,
    pub sysroot: PathBuf,
}

impl Toolchain {
    /// Finds the toolchain, and installs what is missing.
    pub fn ensure(name: Option<&str>, notice: &dyn Fn(Notice<'_>)) -> Result<Self, GuestError> {
        let name = match name {
            Some(name) => name.to_owned(),
            None => std::env::var(TOOLCHAIN_VARIABLE).unwrap_or_else(|_| DEFAULT_TOOLCHAIN.into()),
        };
        let mut sysroot = sysroot(&name)?;
        if sysroot.is_none() {
            notice(Notice::InstallToolchain(&name));
            rustup(
                &name,
                &["toolchain", "install", &name, "--profile", "minimal"],
            )?;
            sysroot = self::sysroot(&name)?;
        }
        let Some(sysroot) = sysroot else {
            return Err(GuestError::Toolchain {
                command: format!("run {name} rustc --print sysroot"),
                toolchain: name,
                status: "no answer".into(),
            });
        };
        if !has_sources(&sysroot) {
            notice(Notice::InstallSources(&name));
            rustup(
                &name,
                &["component", "add", "rust-src", "--toolchain", &name],
            )?;
        }
        Ok(Self { name, sysroot })
    }

    /// The toolchain's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The toolchain's cargo, without the caller's cargo and rustup variables.
    pub fn cargo(&self) -> Command {
        let mut command = self.tool("cargo");
        // The machine's `rustc` may be another's, or none.
        command.env("RUSTC", self.sysroot.join("bin/rustc"));
        command
    }

    /// The toolchain's compiler.
    pub fn rustc(&self) -> Command {
        self.tool("rustc")
    }

    /// The compiler's name, version and commit.
    ///
    /// # Errors
    /// A compiler that does not run.
    pub fn version(&self) -> Result<String, GuestError> {
        let output = self.rustc().arg("-V").output();
        let output = output.map_err(GuestError::NoRustup)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    fn tool(&self, name: &str) -> Command {
        let mut command = clean("rustup");
        command.args(["run", self.name(), name]);
        command
    }
}

/// True if the standard library's sources are there.
fn has_sources(sysroot: &Path) -> bool {
    sysroot
        .join("lib/rustlib/src/rust/library/Cargo.lock")
        .is_file()
}

/// The toolchain's folder, if it is installed.
fn sysroot(name: &str) -> Result<Option<PathBuf>, GuestError> {
    let output = clean("rustup")
        .args(["run", name, "rustc", "--print", "sysroot"])
        .stderr(Stdio::null())
        .output()
        .map_err(GuestError::NoRustup)?;
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    Ok((output.status.success() && !path.is_empty()).then(|| path.into()))
}

/// Runs rustup, which prints to standard error.
fn rustup(toolchain: &str, arguments: &[&str]) -> Result<(), GuestError> {
    let status = clean("rustup")
        .args(arguments)
        .stdout(Stdio::null())
        .status()
        .map_err(GuestError::NoRustup)?;
    if status.success() {
        return Ok(());
    }
    Err(GuestError::Toolchain {
        toolchain: toolchain.to_owned(),
        command: arguments.join(" "),
        status: status.to_string(),
    })
}

/// The user's settings of cargo that reach a guest: the network's, registries', and profiles'.
const PASSED: [&str; 8] = [
    "CARGO_HOME",
    "CARGO_TERM_COLOR",
    "CARGO_BUILD_JOBS",
    "CARGO_HTTP_",
    "CARGO_NET_",
    "CARGO_PROFILE_",
    "CARGO_REGISTRIES_",
    "CARGO_REGISTRY_",
];

/// A command without the variables by which a cargo that runs us would choose toolchain, flags or target.
fn clean(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_passed = PASSED.iter().any(|passed| text.starts_with(passed));
        let chooses = text.starts_with("CARGO") && !is_passed
            || matches!(
                &*text,
                "RUSTUP_TOOLCHAIN"
                    | "RUSTC"
                    | "RUSTFLAGS"
                    | "RUSTC_WRAPPER"
                    | "RUSTC_WORKSPACE_WRAPPER"
            );
        if chooses {
            command.env_remove(&name);
        }
    }
    command
}
