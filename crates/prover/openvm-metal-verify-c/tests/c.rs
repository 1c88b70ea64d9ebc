//! The header and the library from C: the program of `tests/verify.c` is compiled and run.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

/// The folder of the library that cargo built for this test.
fn library_folder() -> PathBuf {
    let program = env::current_exe().expect("this test's path");
    program.parent().expect("a folder").to_owned()
}

/// Catches a header that differs from the library, a warning in strict C99, a field at another place, a refusal without a text,
/// and memory that is freed twice.
#[test]
fn a_c_program_verifies_and_refuses() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = library_folder();
    let program = folder.join("openvm-metal-verify-c-test");
    let compiled = Command::new("cc")
        .args([
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Wconversion",
            "-Werror",
            "-pedantic",
            "-I",
        ])
        .arg(root.join("include"))
        .arg(root.join("tests/verify.c"))
        .arg("-L")
        .arg(&folder)
        .arg("-lopenvm_metal_verify_c")
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("`cc`, which scripts/setup installs");
    let said = String::from_utf8_lossy(&compiled.stderr);
    assert!(compiled.status.success(), "{said}");
    let ran = Command::new(&program)
        .arg(root.join("../openvm-metal-cli/tests/data"))
        .output()
        .expect("the program runs");
    let (out, said) = (
        String::from_utf8_lossy(&ran.stdout),
        String::from_utf8_lossy(&ran.stderr),
    );
    assert!(ran.status.success(), "{out}{said}");
    assert_eq!(said, "", "the library prints nothing");
    for part in [
        "valid: program 000deeb67625511a8d0d68d64e7db2f270abbb10a5630d6d781db57d6652c564",
        "machine 00848d2505b3c5c95cd85396bedef07cf478b2c5b71a2b4778b3765e44406551",
        "values 4b60c05cc74d590b",
        "bits 100.0",
    ] {
        assert!(out.contains(part), "{part} is not in {out}");
    }
}
