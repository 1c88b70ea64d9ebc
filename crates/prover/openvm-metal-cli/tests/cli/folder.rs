//! Folders that tests write into.

use tempfile::TempDir;

/// A folder of one test, empty at first and removed at the end.
pub struct Folder(pub TempDir);

impl Folder {
    pub fn new() -> Self {
        Self(TempDir::with_prefix("openvm-metal-").expect("a folder"))
    }

    pub fn file(&self, name: &str) -> String {
        self.0.path().join(name).display().to_string()
    }
}
