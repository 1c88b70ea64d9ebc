//! `openvm-metal build --check`: whether an executable or a commitment is of these sources.

use std::{ffi::OsStr, fs, path::Path, sync::Arc};

use openvm_circuit::arch::instructions::exe::VmExe;
use openvm_metal_common::Device;
use openvm_metal_sdk::{digest, executable_with, files, guest::BuildRecord, MetalSdk, SdkError};
use openvm_sdk::F;
use serde::Serialize;
use serde_json::Value;

use super::record_of;
use crate::{
    error::{CliError, Result},
    program::{Program, ProgramArgs},
    table::{self, note},
};

/// Most differences of executables that are named.
const MAX_REASONS: usize = 8;

#[derive(Serialize)]
struct CheckReport<'a> {
    program: &'a str,
    reproduced: &'a Path,
    rustc: Option<&'a str>,
}

/// Builds a guest in a fresh temporary folder and compares it with a file.
///
/// # Errors
/// [`CliError::NotReproduced`] with the differences, or that of building or reading.
pub fn check(args: &ProgramArgs, file: &Path, json: bool) -> Result<()> {
    // A file that cannot be read is named before a minute of compiling.
    fs::metadata(file).map_err(|source| read_error(file, source))?;
    let folder = tempfile::tempdir().map_err(|source| read_error(&std::env::temp_dir(), source))?;
    let program = Program::load(&args.again_in(folder.path()))?;
    let Some(built) = &program.built else {
        return Err(CliError::Usage(
            "--check compares a file with a guest's folder, and the program is a file",
        ));
    };
    let ours = program.executable()?;
    let mut reasons = match file.extension().and_then(OsStr::to_str) {
        Some("json") => differences_of_commitments(&program, ours, file)?,
        Some("vmexe") => differences(&ours, &files::read_exe(file)?),
        _ => {
            let theirs = files::read_elf(file)?;
            let theirs = executable_with(&program.vm_config(), theirs, program.settings.traps)?;
            differences(&ours, &theirs)
        }
    };
    if reasons.is_empty() {
        if json {
            return table::json(&CheckReport {
                program: &program.name,
                reproduced: file,
                rustc: Some(&built.record.rustc),
            });
        }
        return table::line(format!(
            "{}: what the sources of {} make ({})",
            file.display(),
            program.name,
            built.record.rustc
        ));
    }
    match BuildRecord::read(&record_of(file)) {
        Ok(theirs) => {
            let settings = built.record.differences(&theirs);
            reasons.push(match settings.is_empty() {
                true => "rustc, Cargo.lock, profile, features and flags are the same: \
                         the sources, openvm.toml or a profile in .cargo/config.toml differ"
                    .into(),
                false => settings.join("; "),
            });
        }
        Err(_) => note(format_args!(
            "{}: no record of its build beside it; this one is by {}, profile {}",
            file.display(),
            built.record.rustc,
            built.record.profile
        )),
    }
    Err(CliError::NotReproduced {
        path: file.to_owned(),
        reasons,
    })
}

fn read_error(path: &Path, source: std::io::Error) -> CliError {
    SdkError::File {
        path: path.to_owned(),
        what: "an executable or a commitment",
        reason: source.to_string(),
    }
    .into()
}

/// The differences of two executables; none if they are the same program.
fn differences(ours: &VmExe<F>, theirs: &VmExe<F>) -> Vec<String> {
    let mut reasons = Vec::new();
    if digest(ours) == digest(theirs) {
        return reasons;
    }
    let mut compare = |what: &str, ours: String, theirs: String| {
        if ours != theirs {
            reasons.push(format!("{what}: {ours} here, {theirs} there"));
        }
    };
    let count = |exe: &VmExe<F>| exe.program.num_defined_instructions().to_string();
    compare("instructions", count(ours), count(theirs));
    let hex = |pc: u32| format!("{pc:#x}");
    compare("entry", hex(ours.pc_start), hex(theirs.pc_start));
    compare(
        "first address",
        hex(ours.program.pc_base),
        hex(theirs.program.pc_base),
    );
    let instruction = |exe: &VmExe<F>, index: usize| {
        let slot = exe.program.instructions_and_debug_infos.get(index);
        slot.and_then(|slot| slot.as_ref().map(|(instruction, _)| instruction.clone()))
    };
    let length = ours.program.len().max(theirs.program.len());
    if let Some(index) = (0..length).find(|&i| instruction(ours, i) != instruction(theirs, i)) {
        let pc = ours.program.pc_base as usize + 4 * index;
        reasons.push(format!("the first other instruction is at {pc:#x}"));
    }
    let words = ours
        .init_memory
        .iter()
        .find(|(at, byte)| theirs.init_memory.get(at) != Some(byte));
    let others = || {
        theirs
            .init_memory
            .iter()
            .find(|(at, _)| !ours.init_memory.contains_key(at))
    };
    if let Some(((_, address), _)) = words.or_else(others) {
        reasons.push(format!("the first other byte of data is at {address:#x}"));
    }
    if reasons.is_empty() {
        reasons.push("the executables differ".into());
    }
    reasons.truncate(MAX_REASONS);
    reasons
}

/// The commitments in which a program differs from a file of them.
fn differences_of_commitments(
    program: &Program,
    exe: Arc<VmExe<F>>,
    file: &Path,
) -> Result<Vec<String>> {
    let text = files::read_config(file)?;
    let value: Value = serde_json::from_str(&text).map_err(|error| SdkError::File {
        path: file.to_owned(),
        what: "a commitment or a baseline",
        reason: error.to_string(),
    })?;
    let mut builder = MetalSdk::builder(Device::Auto).vm_config(program.vm_config());
    if let Some(config) = &program.settings.config {
        builder = builder.config_text(config.parsed.clone());
    }
    let commit = builder.build()?.app_commit(exe)?;
    let found = [
        ("app_exe_commit", commit.app_exe_commit.to_string()),
        ("app_vm_commit", commit.app_vm_commit.to_string()),
    ];
    if value
        .get("app_exe_commit")
        .and_then(Value::as_str)
        .is_none()
    {
        return Err(CliError::Usage(
            "--check takes a .vmexe, an ELF, or JSON with app_exe_commit, as `commit` writes it",
        ));
    }
    let differs = |(name, ours): &(&str, String)| {
        let theirs = value.get(name)?.as_str()?;
        (ours != theirs).then(|| format!("{name}: {ours} here, {theirs} there"))
    };
    Ok(found.iter().filter_map(differs).collect())
}
