//! Sources of the kernels, listed and written to files.

use std::fs;
use std::path::{Path, PathBuf};

use crate::folder::Folder;
use crate::support::{fails, run, stderr, stdout};

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => all.extend(files(&path)),
            false => all.push(path),
        }
    }
    all
}

#[test]
fn sources_for_apples_compiler_are_written() {
    let list = run(&["kernels"]);
    assert!(stdout(&list).contains("openvm_metal_backend/hash/merkle"));
    let folder = Folder::new();
    let texts = folder.file("texts");
    let output = run(&["kernels", "--write", &texts, "--circuits"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let files = files(Path::new(&texts));
    assert!(stdout(&output).contains(&format!("{} files", files.len())));
    let under = |name: &str| {
        let folder = Path::new(&texts).join(name);
        files.iter().filter(|f| f.starts_with(&folder)).count()
    };
    assert!(under("openvm_metal_backend") > 15, "{files:?}");
    // One unit is enough for the constraints of each of the four circuits over each field.
    assert_eq!(under("constraints"), 8, "{files:?}");
    for file in &files {
        let text = fs::read_to_string(file).expect("text");
        assert!(text.contains("kernel void "), "{file:?}");
        assert!(
            text.contains("#include <metal_stdlib>")
                && !text.contains("\n#if")
                && !text.contains("\n#include \""),
            "{file:?}"
        );
    }
}

#[test]
fn unwritable_folder_is_named() {
    let folder = Folder::new();
    let file = folder.file("file");
    fs::write(&file, "").expect("a file");
    fails(&["kernels", "--write", &file], 1, &file);
    fails(&["kernels", "--circuits"], 2, "--write");
}
