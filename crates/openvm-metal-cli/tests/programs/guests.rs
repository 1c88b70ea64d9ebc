//! Guests: made, built, written as executables.

use std::fs;
use std::path::Path;

use crate::support::{command, elf, fails, guest, json, succeeds, text, Folder};

#[test]
fn executables() {
    let folder = Folder::new("vmexe");
    // A guest built elsewhere: its executable and its configuration in one folder.
    let copy = folder.file("fibonacci.elf");
    fs::copy(elf("fibonacci"), &copy).expect("a copy");
    fs::copy(
        guest("fibonacci", "openvm.toml"),
        folder.file("openvm.toml"),
    )
    .expect("a copy");
    let mut build = command(&["build", &copy, "--json"]);
    let output = build
        .current_dir(&folder.0)
        .output()
        .expect("the binary runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let vmexe = folder.file("fibonacci.vmexe");
    let report = json(&[
        "run",
        &vmexe,
        "--input",
        &guest("fibonacci", "input.json"),
        "--json",
    ]);
    assert_eq!(report["program"], "fibonacci");

    let bytes = fs::read(&vmexe).expect("a file");
    let damaged = folder.file("damaged.vmexe");
    for length in [0, 10, bytes.len() / 2, bytes.len() - 1] {
        fs::write(&damaged, &bytes[..length]).expect("a file");
        fails(&["run", &damaged], 1, "not usable as an executable");
    }
}

#[test]
fn new_guests() {
    let folder = Folder::new("init");
    let guest = folder.file("squares");
    let said = succeeds(&["init", &guest]);
    assert!(said.contains("prove stark"), "{said}");
    for file in [
        "Cargo.toml",
        "openvm.toml",
        "src/main.rs",
        "input.json",
        ".gitignore",
    ] {
        assert!(Path::new(&guest).join(file).is_file(), "{file}");
    }
    let manifest = fs::read_to_string(Path::new(&guest).join("Cargo.toml")).expect("a file");
    assert!(manifest.contains("name = \"squares\""), "{manifest}");
    fails(&["init", &guest], 1, "exists already");
    fails(
        &["init", &folder.file("9lives")],
        1,
        "is no name for a package",
    );
}

#[test]
fn guests_that_cannot_be_built() {
    let folder = guest("fibonacci", "");
    let output = command(&["build", &folder]).env("PATH", "").output();
    let output = output.expect("the binary runs");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("rustup does not run"), "{said}");

    let none = Folder::new("unbuildable");
    fs::write(
        none.file("Cargo.toml"),
        "[package]\nname = \"none\"\n[workspace]\n",
    )
    .expect("a file");
    fails(&["build", &none.file("")], 1, "not a guest");
    fs::write(none.file("openvm.toml"), "[app_vm_config]\nrv32i = 3\n").expect("a file");
    fails(&["build", &none.file("")], 1, "openvm.toml");
}
