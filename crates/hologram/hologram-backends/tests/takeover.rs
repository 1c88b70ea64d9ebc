//! Native code that another user has put into the folder of kernels, or where such a folder would be, is not loaded.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hologram_backends::metal::{Effort, MetalBackend};
use hologram_backends::{Backend, ExecutionParams, LaunchConfig, Program, Register};
use openvm_metal_builder::Compiler;
use openvm_metal_common::{Device, MetalContext};
use sha2::{Digest, Sha256};

#[path = "../../../runtime/openvm-metal-common/tests/takeover/mod.rs"]
mod takeover;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Body of the test's child process: it runs a kernel when it is told to.
const CHILD: &str = "HOLOGRAM_TEST_CHILD";

/// Runs a program as a kernel: whether the kernel was loaded and right.
fn runs(folder: Option<PathBuf>) -> Outcome<bool> {
    let context = MetalContext::new(Device::Cpu, &[])?;
    let mut backend = MetalBackend::on(&context, folder, Effort::Least)?;
    let buffer = backend.allocate_buffer(8 * 64)?;
    let program: Program = "mul.u64 r5, r255, r4\nstg.u64 r5, [r1 + r5]".parse()?;
    let launch = ExecutionParams::new(LaunchConfig::linear(64, 64))
        .with_u64(Register::new(1), buffer.raw())
        .with_u64(Register::new(4), 8);
    if backend
        .execute_program_with_params(&program, &launch)
        .is_err()
    {
        return Ok(false);
    }
    let mut bytes = [0; 8];
    backend.copy_from_buffer_at(buffer, 8 * 63, &mut bytes)?;
    assert_eq!(
        (u64::from_le_bytes(bytes), backend.stats().launches),
        (8 * 63, 1)
    );
    Ok(true)
}

/// Copies a folder of kernels to `folder`, each library replaced by one that writes a file as soon as it is loaded. The hash
/// beside it is that library's: who can replace a file can note its hash.
fn planted(at: &Path, folder: &Path) -> Outcome<(PathBuf, PathBuf)> {
    let (files, marker) = (at.join("planted"), at.join("loaded"));
    fs::create_dir_all(at)?;
    assert!(runs(Some(folder.to_path_buf()))?);
    fs::rename(folder, &files)?;
    let (source, library) = (at.join("other.cpp"), at.join("other.so"));
    let code = format!(
        "#include <stdio.h>\n__attribute__((constructor)) static void loaded() {{\n  \
         if (FILE *file = fopen(\"{}\", \"w\")) fclose(file);\n}}\n",
        marker.display()
    );
    fs::write(&source, code)?;
    let [source, library_file] = [&source, &library].map(|path| path.display().to_string());
    let made = Command::new(Compiler::find()?.program)
        .args(["-shared", "-fPIC", "-o", &library_file, &source])
        .status()?;
    assert!(made.success());
    let mut libraries = 0;
    for entry in fs::read_dir(&files)? {
        let path = entry?.path();
        if path.extension().is_some_and(|kind| kind == "so") {
            // The process may still use the file that it loaded: another one of the same name.
            fs::remove_file(&path)?;
            fs::copy(&library, &path)?;
            let note = path.with_extension("so.key");
            let noted = fs::read_to_string(&note)?;
            let (key, _) = noted.rsplit_once('\n').ok_or("a key and a hash")?;
            let hash = format!("{:x}", Sha256::digest(fs::read(&library)?));
            fs::write(&note, format!("{key}\n{hash}"))?;
            libraries += 1;
        }
    }
    assert_eq!(libraries, 1);
    Ok((files, marker))
}

#[test]
fn kernels_of_other_users_are_not_loaded() -> Outcome {
    let at = tempfile::tempdir()?;
    let (files, marker) = planted(at.path(), &takeover::place(at.path()))?;
    takeover::refuses_all(at.path(), &files, |folder| {
        let ran = runs(Some(folder.to_path_buf())).expect("the CPU");
        let loaded = fs::remove_file(&marker).is_ok();
        // What is not another's is compiled, or nothing runs.
        assert!(!(ran && loaded));
        loaded
    });
    Ok(())
}

/// Compiled code lies, without a cache, in a folder of a random name, which is gone in the end; what others have put where
/// such a folder used to be is not looked at.
#[test]
fn without_a_cache_nothing_is_searched() -> Outcome {
    if std::env::var_os(CHILD).is_some() {
        println!("\nready");
        std::io::stdin().lock().read_line(&mut String::new())?;
        assert!(runs(MetalBackend::default_folder())?);
        return Ok(());
    }
    let at = tempfile::tempdir()?;
    for (named, home) in [(Some("0"), true), (None, false)] {
        let temporary = tempfile::tempdir()?;
        let mut child = Command::new(std::env::current_exe()?);
        child
            .args([
                "--exact",
                "without_a_cache_nothing_is_searched",
                "--nocapture",
            ])
            .env(CHILD, "1")
            .env("TMPDIR", temporary.path())
            .env_remove("XDG_CACHE_HOME")
            .env_remove("HOLOGRAM_CACHE")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        if let Some(value) = named {
            child.env("HOLOGRAM_CACHE", value);
        }
        if !home {
            child.env_remove("HOME");
        }
        let mut child = child.spawn()?;
        let folder = temporary.path().join(format!("hologram-{}", child.id()));
        let (files, marker) = planted(&at.path().join(child.id().to_string()), &folder)?;
        takeover::own(&files, &folder)?;
        let given = takeover::give(&folder);
        let mut out = BufReader::new(child.stdout.take().ok_or("a pipe")?).lines();
        while out.next().ok_or("the child ended")?? != "ready" {}
        child.stdin.take().ok_or("a pipe")?.write_all(b"go\n")?;
        let rest: Vec<String> = out.collect::<Result<_, _>>()?;
        assert!(child.wait()?.success(), "{rest:?}");
        assert!(
            !marker.exists(),
            "HOLOGRAM_CACHE={named:?}, a home folder: {home}"
        );
        // Only what was planted is left.
        assert_eq!(fs::read_dir(temporary.path())?.count(), 1);
        if let Err(error) = given {
            eprintln!("tried with the files of this user, only root can give them away: {error}");
        }
    }
    Ok(())
}
