//! Tests of `dist/install.sh` on releases of small scripts: the files that it installs, and the sources that it refuses without
//! leaving a file.
#![cfg(any(
    all(
        target_os = "linux",
        any(target_arch = "x86_64", target_arch = "aarch64")
    ),
    all(target_os = "macos", target_arch = "aarch64")
))]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

const SYSTEM: &str = if cfg!(target_os = "macos") {
    "macos-arm64"
} else if cfg!(target_arch = "aarch64") {
    "linux-aarch64"
} else {
    "linux-x86_64"
};

fn shell(folder: &Path, command: &str) {
    let sums =
        "if command -v sha256sum >/dev/null; then sum=sha256sum; else sum='shasum -a 256'; fi";
    let mut shell = Command::new("sh");
    let shell = shell.args(["-ec", &format!("{sums}; {command}")]);
    let status = shell.current_dir(folder).status().expect("a shell");
    assert!(status.success(), "{command}");
}

/// Makes a release in `folder/release` whose commands print `version` and end with `status`.
fn release(folder: &Path, version: &str, status: i32) -> PathBuf {
    let name = format!("openvm-metal-{version}-{SYSTEM}");
    let release = folder.join("release");
    let files = release.join(&name);
    fs::create_dir_all(&files).expect("a folder");
    for command in ["openvm-metal", "hologram"] {
        let script = format!("#!/bin/sh\necho {version}\nexit {status}\n");
        fs::write(files.join(command), script).expect("a script");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(files.join(command), mode).expect("a mode");
    }
    fs::write(files.join(format!("only-in-{version}")), version).expect("a file");
    shell(&files, "$sum -- * >../SHA256SUMS; mv ../SHA256SUMS .");
    pack(&release, &name);
    fs::write(release.join("RELEASE"), name + "\n").expect("a file");
    release
}

/// Packs the folder `name` of a release, and removes it.
fn pack(release: &Path, name: &str) {
    let command = "tar -czf NAME.tar.gz NAME; rm -r NAME; $sum NAME.tar.gz >NAME.tar.gz.sha256";
    shell(release, &command.replace("NAME", name));
}

fn script() -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist/install.sh");
    let mut command = Command::new("sh");
    command.arg(script);
    command
}

fn install(source: &Path, prefix: &Path) -> Output {
    let mut command = script();
    command.arg(source).arg(prefix).output().expect("a shell")
}

fn refused_with(output: &Output, reason: &str) {
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{error}");
    assert!(error.contains(reason), "{error}");
}

/// Paths of all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let files = paths.map(|path| match path.is_dir() {
        true => files(&path),
        false => vec![path],
    });
    files.flatten().collect()
}

/// Installs from `source`, which is refused with `reason`, and leaves no file.
fn refused(source: &Path, reason: &str) {
    let folder = TempDir::new().expect("a folder");
    let prefix = folder.path().join("prefix");
    refused_with(&install(source, &prefix), reason);
    assert_eq!(files(&prefix), [] as [PathBuf; 0], "after: {reason}");
}

#[test]
fn a_release_is_installed_and_replaced() {
    let folder = TempDir::new().expect("a folder");
    let prefix = folder.path().join("a prefix");
    for version in ["0.1.0", "0.2.0"] {
        let at = folder.path().join(version);
        let output = install(&release(&at, version, 0), &prefix);
        assert!(output.status.success(), "{output:?}");
        for command in ["openvm-metal", "hologram"] {
            let ran = Command::new(prefix.join("bin").join(command)).output();
            assert_eq!(ran.expect("runs").stdout, format!("{version}\n").as_bytes());
        }
        let mut installed = files(&prefix);
        installed.sort();
        let expected = [
            "bin/hologram".to_owned(),
            "bin/openvm-metal".to_owned(),
            format!("share/openvm-metal/only-in-{version}"),
        ];
        assert_eq!(installed, expected.map(|name| prefix.join(name)));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("Add the folder to the path"), "{said}");
    }
}

#[test]
fn a_source_without_an_archive_for_this_system_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let made = release(folder.path(), "0.1.0", 0);
    refused(&folder.path().join("nothing"), "not a folder of a release");
    let address = Path::new("http://localhost/release");
    refused(address, "neither a folder nor an https address");

    fs::write(made.join("RELEASE"), "openvm-metal-0.1.0-plan9-mips\n").expect("a file");
    refused(&made, "no archive for");
    let names = [format!("../x-{SYSTEM}"), format!("a-{SYSTEM}\nb-{SYSTEM}")];
    for name in names {
        fs::write(made.join("RELEASE"), name + "\n").expect("a file");
        refused(&made, "the list RELEASE is damaged");
    }
}

#[test]
fn damaged_archives_and_commands_that_do_not_run_are_refused() {
    let folder = TempDir::new().expect("a folder");
    let made = |name: &str, status| release(&folder.path().join(name), "0.1.0", status);
    refused(&made("fails", 1), "cannot run openvm-metal");

    let longer = made("longer", 0);
    let archive = longer.join(format!("openvm-metal-0.1.0-{SYSTEM}.tar.gz"));
    let mut bytes = fs::read(&archive).expect("an archive");
    bytes.push(0);
    fs::write(&archive, bytes).expect("an archive");
    refused(&longer, "the archive");
    // A sum of another file says nothing of the archive.
    shell(&longer, "$sum RELEASE >$(ls *.sha256)");
    refused(&longer, "the archive");

    let no_sum = made("no sum", 0);
    shell(&no_sum, "rm *.sha256");
    refused(&no_sum, "not a folder of a release");

    let inner = made("inner", 0);
    let name = format!("openvm-metal-0.1.0-{SYSTEM}");
    shell(
        &inner,
        "tar -xzf *.tar.gz; echo >>openvm-metal-*/hologram"
            .replace("openvm-metal-*", &name)
            .as_str(),
    );
    pack(&inner, &name);
    refused(&inner, "a file of");
}

#[test]
fn a_prefix_that_cannot_be_used_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let made = release(folder.path(), "0.1.0", 0);
    let file = folder.path().join("file");
    fs::write(&file, "").expect("a file");
    refused_with(&install(&made, &file), "cannot write to");
    refused_with(&install(&made, Path::new("")), "PREFIX is empty");
    let mut homeless = script();
    let homeless = homeless.arg(&made).env_remove("HOME").output();
    refused_with(&homeless.expect("a shell"), "HOME is not set");

    let prefix = folder.path().join("prefix");
    fs::create_dir_all(prefix.join("bin/openvm-metal")).expect("a folder");
    refused_with(&install(&made, &prefix), "is a folder: remove it");
    assert_eq!(files(&prefix), [] as [PathBuf; 0]);
}
