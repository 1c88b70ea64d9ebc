//! Guests: made, built, written as executables.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    // An empty folder that one is in.
    fs::create_dir(folder.file("here")).expect("a folder");
    let here = command(&["init", "."])
        .current_dir(folder.file("here"))
        .output();
    assert!(here.expect("the binary runs").status.success());
    let manifest = fs::read_to_string(folder.file("here/Cargo.toml")).expect("a file");
    assert!(manifest.contains("name = \"here\""), "{manifest}");
    fails(
        &["init", &folder.file("9lives")],
        1,
        "is no name for a package",
    );
}

/// Whether the toolchain that guests are built with is there with the standard library's sources, so that a test installs nothing.
fn can_build() -> bool {
    let toolchain = std::env::var("OPENVM_RUST_TOOLCHAIN").unwrap_or_else(|_| "stable".into());
    let sysroot = Command::new("rustup")
        .args(["run", &toolchain, "rustc", "--print", "sysroot"])
        .env_remove("RUSTUP_TOOLCHAIN")
        .output();
    sysroot.is_ok_and(|output| {
        let sysroot = PathBuf::from(text(&output.stdout).trim());
        output.status.success()
            && sysroot
                .join("lib/rustlib/src/rust/library/Cargo.lock")
                .is_file()
    })
}

#[test]
fn a_new_guest_builds_and_runs() {
    if !can_build() {
        eprintln!("left out: `rustup component add rust-src` makes the toolchain build guests");
        return;
    }
    let folder = Folder::new("built");
    let guest = folder.file("squares");
    succeeds(&["init", &guest]);
    let built = json(&["build", &guest, "--json"]);
    assert_eq!(built["program"], "squares");
    assert!(built["instructions"].as_u64() > Some(1000), "{built}");
    let vmexe = built["vmexe"].as_str().expect("a path");
    assert_eq!(
        Path::new(vmexe).parent(),
        Some(Path::new(&guest).join("target/openvm").as_path())
    );

    // 338,350, the sum of the first 100 squares, from the folder, the ELF and the executable.
    let input = format!("{guest}/input.json");
    let elf = built["elf"].as_str().expect("a path");
    let config = format!("{guest}/openvm.toml");
    for program in [&guest[..], elf, vmexe] {
        // Beside the public values there is what the guest prints.
        let said = succeeds(&["run", program, "--config", &config, "--input", &input]);
        for text in ["squares is 338350", "public values 0xae29050000000000"] {
            assert!(said.contains(text), "{program}: {said}");
        }
        // Not where its output is to be parsed.
        let args = [
            "run", program, "--config", &config, "--input", &input, "--json",
        ];
        assert_eq!(
            json(&args)["public_values"].as_str().map(|v| &v[..10]),
            Some("0xae290500")
        );
    }

    // What does not compile is cargo's to explain; the command says which guest.
    fs::write(format!("{guest}/src/main.rs"), "fn main() { no }").expect("a file");
    fails(
        &["run", &guest, "--input", &input],
        1,
        "cargo could not build the guest",
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
