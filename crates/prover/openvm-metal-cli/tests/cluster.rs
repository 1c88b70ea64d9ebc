//! `cluster` and `prove stark --ray`: the Python package's command gets the same options, and its absence is told.
#![cfg(unix)]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use tempfile::TempDir;

fn program() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/guests/fibonacci/fibonacci.elf")
}

fn run(path: &Path, more: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_openvm-metal"))
        .args(["prove", "stark"])
        .arg(program())
        .args(["--ray", "10.0.0.1:6379"])
        .args(more)
        .env("PATH", path)
        .env_remove("OPENVM_METAL_DEVICE")
        .output()
        .expect("the binary runs")
}

/// A folder with scripts instead of commands.
struct Commands(TempDir);

impl Commands {
    fn new(scripts: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, script) in scripts {
            let file = folder.path().join(name);
            fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self(folder)
    }
}

const PRINTS: &str = "for a in \"$@\"; do echo \"$a\"; done";

#[test]
fn ray_option_passes_the_options() {
    let commands = Commands::new(&[("openvm-metal-cluster", PRINTS)]);
    let more = ["--input", "0x01ff", "--toy", "--json", "--resume", "job"];
    let output = run(commands.0.path(), &more);
    assert!(output.status.success());
    let said = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines[..2], ["prove", program().to_str().unwrap()]);
    let beside = program().with_file_name("openvm.toml");
    for pair in [
        ["--address", "10.0.0.1:6379"],
        ["--input", "0x01ff"],
        ["--job-folder", "job"],
        ["--config", beside.to_str().unwrap()],
    ] {
        assert!(lines.windows(2).any(|two| two == pair), "{pair:?}: {said}");
    }
    assert!(
        lines.contains(&"--toy") && lines.contains(&"--json"),
        "{said}"
    );
}

#[test]
fn cluster_passes_its_arguments() {
    let commands = Commands::new(&[("openvm-metal-cluster", PRINTS)]);
    let given = ["nodes", "--address", "10.0.0.1:6379", "--help"];
    let output = Command::new(env!("CARGO_BIN_EXE_openvm-metal"))
        .arg("cluster")
        .args(given)
        .env("PATH", commands.0.path())
        .env_remove("OPENVM_METAL_DEVICE")
        .output()
        .expect("the binary runs");
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.lines().collect::<Vec<_>>(), given);
}

#[test]
fn cluster_returns_the_status() {
    let commands = Commands::new(&[("openvm-metal-cluster", "echo why >&2; exit 7")]);
    let output = run(commands.0.path(), &[]);
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stderr, b"why\n");
}

#[test]
fn cluster_starts_by_python_module() {
    let python = format!("[ \"$2\" = -c ] && exit 0\n{PRINTS}");
    let commands = Commands::new(&[("python3", &python)]);
    let output = run(commands.0.path(), &[]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(
        said.starts_with("-P\n-m\nopenvm_metal.ray\nprove\n"),
        "{said}"
    );
}

/// A package of that name in the current folder, which is a stranger's, is not run, whether or not the true one is installed.
#[test]
fn modules_of_the_working_directory_are_ignored() {
    let folder = Commands::new(&[]);
    let marker = folder.0.path().join("ran");
    let code = format!("open({:?}, \"w\").close()\n", marker.to_str().unwrap());
    let package = folder.0.path().join("openvm_metal");
    fs::create_dir_all(package.join("ray")).unwrap();
    for file in ["__init__.py", "ray/__init__.py", "ray/__main__.py"] {
        fs::write(package.join(file), &code).unwrap();
    }
    let python = |arguments: &[&str]| {
        let mut command = Command::new("python3");
        command.args(arguments).current_dir(&folder.0).output()
    };
    // The package needs Python 3.11, and -P came with it.
    let version = "import sys; print(sys.executable, sys.version_info >= (3, 11))";
    let found = python(&["-c", version]).map(|found| String::from_utf8(found.stdout).unwrap());
    let executable = found.ok().and_then(|found| {
        let executable = found.strip_suffix(" True\n")?;
        Some(PathBuf::from(executable))
    });
    let Some(executable) = executable else {
        eprintln!("not tried: there is no Python 3.11 or newer on this machine");
        return;
    };
    assert!(python(&["-c", "import openvm_metal.ray"])
        .unwrap()
        .status
        .success());
    assert!(marker.exists(), "without -P it is run");
    fs::remove_file(&marker).unwrap();

    let commands = Commands::new(&[]);
    std::os::unix::fs::symlink(executable, commands.0.path().join("python3")).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_openvm-metal"))
        .args(["cluster", "nodes", "--help"])
        .current_dir(&folder.0)
        .env("PATH", commands.0.path())
        .env_remove("OPENVM_METAL_DEVICE")
        .env_remove("PYTHONPATH")
        .output()
        .expect("the binary runs");
    assert!(
        !marker.exists(),
        "code of the current folder ran: {output:?}"
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success()
            || said.contains("pip install './crates/prover/openvm-metal-py[ray]'"),
        "{said}"
    );
}

#[test]
fn missing_package_names_the_installer() {
    for scripts in [&[][..], &[("python3", "exit 1")]] {
        let commands = Commands::new(scripts);
        let output = run(commands.0.path(), &[]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("pip install './crates/prover/openvm-metal-py[ray]'"),
            "{said}"
        );
    }
}

#[test]
fn ray_refuses_a_local_device() {
    let commands = Commands::new(&[("openvm-metal-cluster", "exit 9")]);
    let output = run(commands.0.path(), &["--device", "cpu"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("--ray takes those of the cluster"), "{said}");
}
