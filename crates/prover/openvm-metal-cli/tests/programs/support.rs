//! The command as tests run it.

#[path = "../cli/folder.rs"]
mod folder;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

pub use folder::Folder;

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_openvm-metal"));
    command.args(args).env_remove("OPENVM_METAL_DEVICE");
    command
}

pub fn run(args: &[&str]) -> Output {
    command(args).output().expect("the binary runs")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Standard output of a command that must succeed.
pub fn succeeds(args: &[&str]) -> String {
    let output = run(args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

pub fn json(args: &[&str]) -> Value {
    serde_json::from_str(&succeeds(args)).expect("JSON")
}

/// Runs a command that must fail with `status`, naming `message`, without a panic of ours.
pub fn fails(args: &[&str], status: i32, message: &str) {
    let output = run(args);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {said}");
    assert!(said.contains(message), "{args:?}: {said}");
    assert!(!said.contains("panicked at"), "{args:?}: {said}");
}

/// A file of an example guest.
pub fn guest(name: &str, file: &str) -> String {
    let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/guests");
    guests.join(name).join(file).display().to_string()
}

pub fn elf(name: &str) -> String {
    guest(name, &format!("{name}.elf"))
}
