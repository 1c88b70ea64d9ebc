//! Errors of making and building a guest.

use std::{io, path::PathBuf};

use super::hint::Hint;

/// Errors of making and building a guest.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GuestError {
    /// There is no rustup to run the toolchain with.
    #[error("rustup does not run: {0}. Guests are built by a toolchain that rustup manages: see https://rustup.rs")]
    NoRustup(#[source] io::Error),
    /// A step of setting up the toolchain failed; what it printed says why.
    #[error("`rustup {command}` failed ({status}): guests need the toolchain `{toolchain}` with its component rust-src")]
    Toolchain {
        toolchain: String,
        command: String,
        status: String,
    },
    /// A folder that is not a guest.
    #[error("{}: not a guest: {reason}", path.display())]
    NotAGuest { path: PathBuf, reason: String },
    /// An `openvm.toml` that does not parse.
    #[error("{}: {reason}", path.display())]
    Config { path: PathBuf, reason: String },
    /// Flags of the compiler that cannot be found out.
    #[error("flags for the guest's compiler: {0}")]
    Flags(String),
    /// cargo refused the guest; what it printed says why.
    #[error("{}: cargo could not build the guest ({status}){}", path.display(), hint.as_ref().map(|hint| format!(". {hint}")).unwrap_or_default())]
    Cargo {
        path: PathBuf,
        status: String,
        hint: Option<Hint>,
    },
    /// An ELF of cargo's whose symbols cannot be taken away.
    #[error("{}: not an ELF as guests' linker makes it: {reason}", path.display())]
    Elf { path: PathBuf, reason: String },
    /// Several programs, and none was chosen.
    #[error("{}: the package has several programs: {}. Choose one (--bin NAME)", path.display(), names.join(", "))]
    SeveralPrograms { path: PathBuf, names: Vec<String> },
    /// A name that cargo or the build does not allow for a package.
    #[error("`{name}` cannot be the name of a package: {reason}")]
    Name { name: String, reason: &'static str },
    /// A target folder that the guest's files place outside of its workspace, or that is a link there.
    #[error(
        "{}: the guest's target folder lies outside of its workspace {}, or behind a link, and nothing is written there unasked: name a \
         folder (--out, or --target-dir)",
        target.display(), workspace.display()
    )]
    TargetOutside { target: PathBuf, workspace: PathBuf },
    /// A link in place of a folder of results.
    #[error("{}: it is a link, and nothing is written through links in a guest's target folder: remove it, or name another folder (--target-dir)", .0.display())]
    Link(PathBuf),
    /// There is something already.
    #[error("{}: exists already", .0.display())]
    Exists(PathBuf),
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl GuestError {
    pub(super) fn io(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        |source| Self::Io { path, source }
    }
}
