//! The command as tests run it.

use std::process::{Command, Output};

pub fn run(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_openvm-metal"))
        .args(args)
        .env_remove("OPENVM_METAL_DEVICE")
        .output()
        .expect("the binary runs")
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs a command that must fail with `status`, naming `text`, without a panic.
pub fn fails(args: &[&str], status: i32, text: &str) {
    let output = run(args);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {message}");
    assert!(message.contains(text), "{args:?}: {message}");
    assert!(!message.contains("panicked"), "{args:?}: {message}");
}
