//! The commands.

pub mod asm;
pub mod check;
pub mod disasm;
pub mod emit_msl;
pub mod fuzz;
pub mod kernels;
pub mod run;
pub mod selftest;

use std::io::Write;
use std::path::{Path, PathBuf};

use hologram_backends::Program;
use openvm_metal_common::Device;

use crate::error::{CliError, Result};

/// A device as arguments name it.
fn device(name: &str) -> Result<Device, String> {
    name.parse::<Device>().map_err(|e| e.to_string())
}

/// Reads a program, serialised or assembly text.
fn load(path: &Path) -> Result<Program> {
    Program::load_from_file(path).map_err(|e| CliError::program(path, e))
}

/// Writes to a file, or to standard output.
fn put(path: Option<&PathBuf>, bytes: &[u8]) -> Result<()> {
    match path {
        Some(path) => std::fs::write(path, bytes).map_err(|source| CliError::Write {
            path: path.display().to_string(),
            source,
        }),
        None => {
            let mut out = std::io::stdout().lock();
            out.write_all(bytes)?;
            Ok(out.flush()?)
        }
    }
}
