//! Guests: packages of Rust programs for the virtual machine, made and built here.
//!
//! A guest is a folder with a `Cargo.toml`, an `openvm.toml` that names the extensions, and a program that uses the
//! crate `openvm`. It is built by cargo on a stable toolchain with the settings of openvm-build 2.0.2; what is
//! missing on the machine is installed by rustup. The same sources give the same bytes on every machine: no path of
//! the machine enters the executable, so the commitment to the program can be checked by whoever builds it again.

mod build;
mod error;
mod flags;
mod hint;
mod init;
mod package;
mod record;
mod strip;
mod toolchain;

pub use crate::files::CONFIG_FILE;
pub use build::{build, target_dir, BuildOptions, Built, Notice, OUTPUT_FOLDER};
pub use error::GuestError;
pub use hint::Hint;
pub use init::init;
pub use package::config_of;
pub use record::BuildRecord;
pub use strip::without_symbols;
pub use toolchain::{DEFAULT_TOOLCHAIN, TOOLCHAIN_VARIABLE};
