//! Every file of `lint_corpus` is rejected by the rule and at the line that its first line names; no file of
//! `valid_corpus` is.

use std::{
    fs,
    path::{Path, PathBuf},
};

use openvm_metal_builder::{lint::address_space, Toolchain};

fn files(folder: &str) -> Vec<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let mut out: Vec<PathBuf> = fs::read_dir(dir)
        .expect("corpus folder")
        .filter_map(|e| Some(e.ok()?.path()))
        .filter(|p| p.extension().is_some_and(|e| e == "metal"))
        .collect();
    out.sort();
    out
}

fn toolchain(name: &str) -> Toolchain {
    Toolchain::new(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)).expect("a C++ compiler")
}

/// Rules that only clang can check.
const CLANG_RULES: [&str; 5] = [
    "address-space-mix",
    "constant-write",
    "metal-syntax",
    "shuffle-size",
    "unknown-name",
];

#[test]
fn invalid_files_are_rejected_with_rule_and_line() {
    let tools = toolchain("lint-invalid");
    let files = files("lint_corpus");
    assert!(files.len() >= 35);
    let mut wrong = Vec::new();
    for f in &files {
        let text = fs::read_to_string(f).expect("readable");
        let head = text.lines().next().expect("first line");
        let mut words = head.trim_start_matches("// expect:").split_whitespace();
        let rule = words.next().expect("rule");
        let line: u32 = words.next().and_then(|l| l.parse().ok()).expect("line");
        if CLANG_RULES.contains(&rule) && !address_space::available(tools.compiler()) {
            continue;
        }
        let root = f.parent().expect("folder");
        let found = tools.lint(root, f).expect("readable source");
        let hit = found
            .iter()
            .any(|x| x.rule == rule && x.line == line && Path::new(&x.file) == f);
        if !hit || found.iter().any(|x| x.rule != rule) {
            wrong.push(format!(
                "{}: expected {rule} {line}, found {found:#?}",
                f.display()
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn valid_files_have_no_findings() {
    let tools = toolchain("lint-valid");
    for f in files("valid_corpus") {
        let found = tools
            .lint(f.parent().expect("folder"), &f)
            .expect("readable source");
        assert!(found.is_empty(), "{found:#?}");
    }
}

/// Texts that end in the middle of a statement are read to their end.
#[test]
fn texts_that_end_too_soon_are_read() {
    let tools = toolchain("lint-short");
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lint-short-texts");
    fs::create_dir_all(&root).expect("a folder");
    for (i, text) in [
        "static uint f(uint x) { while (x",
        "static uint f(uint x) { do { x++; } while",
        "static uint f(uint x) { for (;;) if (x) else",
    ]
    .iter()
    .enumerate()
    {
        let file = root.join(format!("{i}.metal"));
        fs::write(&file, text).expect("a file");
        // Findings or an error of the compiler, as it is no Metal.
        let _ = tools.lint(&root, &file);
    }
}
