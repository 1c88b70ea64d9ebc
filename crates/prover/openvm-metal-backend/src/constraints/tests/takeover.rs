//! Compiled kernels that another user has put into the folder of kernels, or where such a folder would be, are not loaded.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use openvm_metal_builder::Compiler;

use super::*;
use crate::programs::AirPrograms;

#[path = "../../../../../runtime/openvm-metal-common/tests/takeover/mod.rs"]
mod cases;

/// Body of the test's child process: it looks for kernels when it is told to.
const CHILD: &str = "OPENVM_METAL_TEST_CHILD";

/// Starts the kernels of a small key and waits for all: how many sums have theirs.
fn ready(mode: ConstraintKernels, folder: Option<&Path>) -> usize {
    // Units are shared in a context: this one is nobody else's.
    let context = MetalContext::builder(Device::Cpu)
        .libraries(&[&kernels::LIBRARY])
        .open()
        .expect("the CPU");
    // Compilers take most of the time.
    let keys = random_keys(24);
    let programs = keys
        .iter()
        .map(|vk| AirPrograms::new("test", vk).expect("a program"));
    let size = |air: &AirPrograms| air.rules().map(|rules| rules.kernel_groups(1).len()).sum();
    let programs: AirPrograms = programs
        .filter(|air| air.rules().any(|rules| !rules.is_empty()))
        .min_by_key(|air| -> usize { size(air) })
        .expect("a program with rules");
    let config = MetalProverConfig {
        constraint_kernels: mode,
        kernel_folder: folder.map(Path::to_path_buf),
        ..Default::default()
    };
    let kernels = generated::start(&context, &config, [&programs]).expect("started");
    let sums = kernels.concat();
    let is_ready = |sum: &&generated::SumKernels| {
        let over = |field| sum.over(field).is_some_and(|k| k.ready(true).is_some());
        // All of them are waited for.
        EvalField::ALL.map(over).contains(&true)
    };
    sums.iter().filter(is_ready).count()
}

/// Copies a folder of kernels to `folder`, each library replaced by one that writes a file as soon as it is loaded.
fn planted(at: &Path, folder: &Path) -> (PathBuf, PathBuf) {
    let (files, marker) = (at.join("planted"), at.join("loaded"));
    assert!(ready(ConstraintKernels::Generated, Some(folder)) > 0);
    fs::remove_dir_all(folder.join("scratch")).expect("the compiler's");
    assert!(ready(ConstraintKernels::Auto, Some(folder)) > 0);
    fs::rename(folder, &files).expect("ours");
    let (source, library) = (at.join("other.cpp"), at.join("other.so"));
    let code = format!(
        "#include <stdio.h>\n__attribute__((constructor)) static void loaded() {{\n  \
         if (FILE *file = fopen(\"{}\", \"w\")) fclose(file);\n}}\n",
        marker.display()
    );
    fs::write(&source, code).expect("room");
    let made = Command::new(Compiler::find().expect("a compiler").program)
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(made.expect("a compiler").success());
    let mut libraries = 0;
    for entry in fs::read_dir(&files).expect("ours") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|kind| kind == "so") {
            // The process may still use the file that it loaded: another one of the same name.
            fs::remove_file(&path).expect("ours");
            fs::copy(&library, &path).expect("room");
            libraries += 1;
        }
    }
    assert!(libraries > 0);
    (files, marker)
}

#[test]
fn kernels_of_other_users_are_not_loaded() {
    let at = tempfile::tempdir().expect("a folder");
    let (files, marker) = planted(at.path(), &cases::place(at.path()));
    cases::refuses_all(at.path(), &files, |folder| {
        // The library that is planted has no kernels.
        assert_eq!(ready(ConstraintKernels::Auto, Some(folder)), 0);
        fs::remove_file(&marker).is_ok()
    });
    // With a compiler they are made again, and what is kept is this user's.
    cases::own(&files, &at.path().join("again")).expect("a copy");
    let again = at.path().join("again");
    if cases::give_files(&again).is_ok() {
        assert!(ready(ConstraintKernels::Generated, Some(&again)) > 0);
        assert!(ready(ConstraintKernels::Auto, Some(&again)) > 0);
        assert!(!marker.exists());
    }
}

/// Nothing is searched for without a cache, and compiled code lies in a folder of a random name, which is gone in the end.
/// Files of other users at the place of such a folder are ignored.
#[test]
fn without_a_cache_nothing_is_searched() {
    const TEST: &str = "constraints::tests::takeover::without_a_cache_nothing_is_searched";
    if std::env::var_os(CHILD).is_some() {
        println!("\nready");
        let go = std::io::stdin().lock().read_line(&mut String::new());
        assert!(go.expect("a pipe") > 0);
        let found = ready(ConstraintKernels::Auto, None);
        println!("\nfound {found}");
        let compiled = ready(ConstraintKernels::Generated, None);
        println!("compiled {compiled}");
        return;
    }
    let at = tempfile::tempdir().expect("a folder");
    // Others may use what is in it.
    fs::set_permissions(
        at.path(),
        std::os::unix::fs::PermissionsExt::from_mode(0o1777),
    )
    .expect("ours");
    let (files, marker) = planted(at.path(), &at.path().join("kernels"));
    // A user whom the system does not know has no home folder.
    const NOBODY: u32 = 4_000_000;
    for user in [None, Some(NOBODY)] {
        let temporary = tempfile::Builder::new();
        let temporary = temporary.tempdir_in(at.path()).expect("a folder");
        let sticky = std::os::unix::fs::PermissionsExt::from_mode(0o1777);
        fs::set_permissions(temporary.path(), sticky).expect("ours");
        let program = at.path().join("program");
        fs::copy(std::env::current_exe().expect("this program"), &program).expect("room");
        let mut child = Command::new(program);
        child
            .args(["--exact", TEST, "--nocapture"])
            .env(CHILD, "1")
            .env("TMPDIR", temporary.path())
            .env_remove("OPENVM_METAL_CACHE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        match user {
            None => child.env("OPENVM_METAL_CACHE", "0"),
            Some(user) => {
                child.env_remove("HOME").env_remove("XDG_CACHE_HOME");
                std::os::unix::process::CommandExt::uid(&mut child, user)
            }
        };
        let mut child = match child.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                eprintln!("not tried, only root can become user {user:?}: {error}");
                continue;
            }
            Err(error) => panic!("{error}"),
        };
        let folder = temporary
            .path()
            .join(format!("openvm-metal-{}", child.id()));
        cases::own(&files, &folder.join("constraint-kernels")).expect("a copy");
        if let Err(error) = cases::give(&folder) {
            eprintln!("tried with the files of this user, only root can give them away: {error}");
        }
        let mut out = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let mut line = || out.next().expect("the child ended").expect("text");
        while line() != "ready" {}
        let go = child.stdin.take().expect("a pipe").write_all(b"go\n");
        go.expect("the child reads");
        let mut counts = Vec::new();
        while let Some(Ok(line)) = out.next() {
            let count = |name| line.strip_prefix(name)?.parse::<usize>().ok();
            counts.extend(count("found ").or_else(|| count("compiled ")));
        }
        assert!(child.wait().expect("a child").success(), "{counts:?}");
        assert!(counts[0] == 0 && counts[1] > 0, "{counts:?}");
        assert!(!marker.exists(), "user {user:?}");
        // Only what was planted is left.
        let left = fs::read_dir(temporary.path()).expect("ours").count();
        assert_eq!(left, 1);
    }
}
