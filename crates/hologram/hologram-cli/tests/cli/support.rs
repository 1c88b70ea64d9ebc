//! The command as tests run it.

use std::process::{Command, Output};

use tempfile::TempDir;

/// `out[i] = a[i] + b[i]` for the lanes below r4.
pub const ADD: &str = "    set.ltu.u64 p0, r255, r4
    bra @work, p0
    exit
@work:
    mov_imm.u32 r5, 2
    shl.u64 r6, r255, r5
    ldg.f32 r7, [r1 + r6]
    ldg.f32 r8, [r2 + r6]
    add.f32 r9, r7, r8
    stg.f32 r9, [r3 + r6]
";

/// A folder that is removed in the end.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(TempDir::with_prefix("hologram-cli-").expect("folder"))
    }

    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        std::fs::write(&path, contents).expect("file");
        path
    }

    pub fn path(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }
}

pub fn hologram(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hologram"))
        .args(args)
        .output()
        .expect("the binary runs")
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub fn succeeds(args: &[&str]) -> String {
    let output = hologram(args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Runs a command that must fail with `status`, naming `part`, without a panic.
pub fn fails(args: &[&str], status: i32, part: &str) {
    let output = hologram(args);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {message}");
    assert!(message.contains(part), "{args:?}: {message}");
    assert!(!message.contains("panicked"), "{args:?}: {message}");
}
