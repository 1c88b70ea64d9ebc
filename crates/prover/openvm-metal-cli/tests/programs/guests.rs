//! Guests: made, built, written as executables.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::support::{command, elf, fails, guest, json, succeeds, text, Folder};

#[test]
fn build_writes_executables() {
    let folder = Folder::new();
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
fn init_writes_a_package() {
    let folder = Folder::new();
    let guest = folder.file("squares");
    let said = succeeds(&["init", &guest]);
    assert!(said.contains("prove stark"), "{said}");
    for file in [
        "Cargo.toml",
        "openvm.toml",
        "src/lib.rs",
        "src/main.rs",
        "input.json",
        ".gitignore",
        "host/Cargo.toml",
        "host/src/main.rs",
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
    // Names that cargo or the build of a guest refuses, before anything is made.
    for name in ["9lives", "build", "test", "core", "fn", "openvm", "é"] {
        let folder = folder.file(name);
        fails(&["init", &folder], 1, "cannot be the name of a package");
        assert!(!Path::new(&folder).exists(), "{name}");
    }
    let alone = folder.file("alone");
    succeeds(&["init", &alone, "--guest-only"]);
    assert!(!Path::new(&alone).join("host").exists());
    let sdk = folder.file("none");
    let args = ["init", &folder.file("other"), "--sdk", &sdk];
    fails(&args, 1, "not the folder of the crate openvm-metal-sdk");
}

/// Keys are those of the configuration: this guest does not compile.
#[test]
fn keys_need_no_build() {
    let folder = Folder::new();
    let guest = folder.file("squares");
    succeeds(&["init", "--guest-only", &guest]);
    fs::write(Path::new(&guest).join("src/main.rs"), "no Rust").expect("written");
    let keygen = ["keygen", &guest, "--app-only", "--toy", "--device", "cpu"];
    let written = json(&[&keygen[..], &["--json"]].concat());
    let file = Path::new(&guest).join("target/openvm/app.pk");
    assert_eq!(written["files"][0].as_str().map(Path::new), Some(&*file));
    assert!(file.is_file());
    let elsewhere = folder.file("keys");
    succeeds(&[&keygen[..], &["--out", &elsewhere]].concat());
    let key = |file: &Path| fs::read(file).expect("a key");
    assert!(key(&file) == key(&Path::new(&elsewhere).join("app.pk")));
    fails(
        &[&keygen[..], &["--config", "missing"]].concat(),
        1,
        "missing",
    );
}

/// A guest of a stranger that leads its results to files of the user's, by links or by its cargo configuration.
#[test]
fn results_of_a_stranger_s_guest_stay_in_it() {
    use std::os::unix::fs::symlink;

    let folder = Folder::new();
    let guest = folder.file("squares");
    succeeds(&["init", "--guest-only", &guest]);
    let at = |name: &str| Path::new(&guest).join(name);
    let (elsewhere, precious) = (folder.file("elsewhere"), folder.file("precious"));
    fs::create_dir(&elsewhere).expect("a folder");
    fs::write(&precious, "precious").expect("written");
    let keygen = ["keygen", &guest, "--app-only", "--toy", "--device", "cpu"];
    let refused = |status: i32, message: &str| {
        fails(&keygen, status, message);
        assert_eq!(fs::read(&precious).expect("a file"), b"precious");
        let count = fs::read_dir(&elsewhere).expect("a folder").count();
        assert_eq!(count, 0, "{message}");
    };
    fs::create_dir_all(at("target/openvm")).expect("folders");
    symlink(&precious, at("target/openvm/app.vk")).expect("a link");
    refused(
        2,
        "target/openvm/app.vk is a link, and nothing is written through links",
    );
    // The user's own choice is not asked about.
    let out = folder.file("keys");
    succeeds(&[&keygen[..], &["--out", &out]].concat());
    fs::remove_dir_all(at("target/openvm")).expect("removed");
    symlink(&elsewhere, at("target/openvm")).expect("a link");
    refused(2, "target/openvm is a link");
    fs::remove_dir_all(at("target")).expect("removed");
    symlink(&elsewhere, at("target")).expect("a link");
    refused(1, "the guest's target folder lies outside of its workspace");
    fs::remove_file(at("target")).expect("removed");
    symlink(folder.file("none"), at("target")).expect("a link");
    refused(1, "the guest's target folder lies outside of its workspace");
    assert!(!Path::new(&folder.file("none")).exists());
    fs::remove_file(at("target")).expect("removed");
    fs::create_dir(at(".cargo")).expect("a folder");
    let target = "[build]\ntarget-dir = \"../elsewhere\"\n";
    fs::write(at(".cargo/config.toml"), target).expect("written");
    refused(1, "name a folder (--out, or --target-dir)");
    // Keys of other parameters and of root proofs go there, too; those of cargo-openvm's folder do not.
    let home = folder.file("home");
    let setup = |more: &[&str]| {
        let args = [&["setup", &guest, "--device", "cpu"], more].concat();
        let output = command(&args).envs(homes(&home)).output();
        let output = output.expect("the binary runs");
        (output.status.code(), text(&output.stderr))
    };
    for more in ["--toy", "--root"] {
        let (status, said) = setup(&[more]);
        assert_eq!(status, Some(1), "{said}");
        assert!(said.contains("outside of its workspace"), "{said}");
    }
    let (status, said) = setup(&[]);
    assert_eq!(status, Some(0), "{said}");
    assert!(Path::new(&home)
        .join(".openvm/internal_recursive.pk")
        .is_file());
    succeeds(&[&keygen[..], &["--target-dir", &elsewhere]].concat());
    assert!(Path::new(&elsewhere).join("openvm/app.vk").is_file());
}

#[test]
#[ignore = "the guest's standard library, two minutes on two cores: a campaign by command"]
fn new_guest_builds_and_runs() {
    let folder = Folder::new();
    let guest = folder.file("squares");
    succeeds(&["init", &guest]);
    let built = json(&["build", &guest, "--json"]);
    assert_eq!(built["program"], "squares");
    assert!(built["instructions"].as_u64() > Some(1000), "{built}");
    let vmexe = built["vmexe"].as_str().expect("a path");
    let outputs = Path::new(&guest).join("target/openvm/release");
    assert_eq!(Path::new(vmexe).parent(), Some(outputs.as_path()));
    // The ELF that is proved has no symbols; another has them, and is the same code.
    let elves = ["elf", "symbols"]
        .map(|name| fs::read(built[name].as_str().expect("a path")).expect("an ELF"));
    let lines = |bytes: &[u8]| bytes.windows(11).any(|part| part == b".debug_line");
    assert_eq!(elves.each_ref().map(|elf| lines(elf)), [false, true]);
    let stripped = openvm_metal_sdk::guest::without_symbols(&elves[1]).expect("an ELF");
    assert!(stripped == elves[0]);
    let record = fs::read_to_string(outputs.join("squares.build.json")).expect("a record");
    assert!(record.contains("rustc "), "{record}");

    // 338,350, the sum of the first 100 squares, from the folder, the ELF and the executable.
    let input = format!("{guest}/input.json");
    let elf = built["elf"].as_str().expect("a path");
    for program in [&guest[..], elf, vmexe] {
        // Beside the public values there is what the guest prints.
        let said = succeeds(&["run", program, "--input", &input]);
        for text in ["squares is 338350", "public values 0xae29050000000000"] {
            assert!(said.contains(text), "{program}: {said}");
        }
        // Not where its output is to be parsed.
        let args = ["run", program, "--input", &input, "--json"];
        assert_eq!(
            json(&args)["public_values"].as_str().map(|v| &v[..10]),
            Some("0xae290500")
        );
    }

    // Other guests in the same target folder: the standard library is compiled no more.
    let target = format!("{guest}/target");
    let build = |guest: &str, envs: &[(&str, &str)]| {
        let args = ["build", guest, "--target-dir", &target, "--json"];
        let output = command(&args)
            .envs(envs.iter().copied())
            .output()
            .expect("the binary runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        assert!(
            !text(&output.stderr).contains("Compiling core"),
            "{}",
            text(&output.stderr)
        );
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        (
            report["vmexe"].as_str().expect("a path").to_owned(),
            text(&output.stderr),
        )
    };
    let write = |guest: &str, main: &str| {
        succeeds(&["init", guest, "--guest-only"]);
        fs::write(format!("{guest}/src/main.rs"), main).expect("a file");
    };
    // One that does not name the crate with the entry point.
    let hello = folder.file("hello");
    write(&hello, "fn main() { println!(\"Hello, world!\"); }");
    let (vmexe, _) = build(&hello, &[]);
    assert!(succeeds(&["run", &vmexe]).contains("Hello, world!"));
    // Flags of cargo's configuration and of the environment.
    let flagged = folder.file("flagged");
    let main = "fn main() { openvm::io::reveal_u32(if cfg!(tuned) { 111 } else { 222 }, 0); }";
    write(&flagged, main);
    let reveals = |vmexe: &str, text: &str| {
        let said = succeeds(&["run", vmexe]);
        assert!(said.contains(&format!("public values {text}")), "{said}");
    };
    reveals(&build(&flagged, &[]).0, "0xde000000");
    // Another folder's package of the same name is another, though no file of it is newer.
    let other = folder.file("other/flagged");
    fs::create_dir_all(folder.file("other")).expect("a folder");
    write(&other, &main.replace("222", "333"));
    reveals(&build(&other, &[]).0, "0x4d010000");
    reveals(&build(&flagged, &[]).0, "0xde000000");

    // The package's command looks beside the ELF: a guest without a file gets what it was built with, whatever is there.
    let stored = outputs.join("squares.openvm.toml");
    fs::write(&stored, "of another build").expect("written");
    fs::remove_file(format!("{guest}/openvm.toml")).expect("removed");
    let bin = folder.file("bin");
    let script = Path::new(&bin).join("openvm-metal-cluster");
    fs::create_dir(&bin).expect("a folder");
    fs::write(&script, "#!/bin/sh\necho \"$@\"\n").expect("written");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("permissions");
    let path = format!("{bin}:{}", std::env::var("PATH").expect("a PATH"));
    let on_cluster = || {
        let mut prove = command(&["prove", "stark", &guest, "--ray", "10.0.0.1:6379"]);
        prove.env("PATH", &path).output().expect("the binary runs")
    };
    let given = text(&on_cluster().stdout);
    let named = format!("--config {}", stored.display());
    assert!(given.contains(&named), "{given}");
    let written = fs::read_to_string(&stored).expect("a configuration");
    assert!(written.contains("rv32m"), "{written}");
    std::os::unix::fs::symlink("/nowhere", outputs.join("SQUARES.commit.json")).expect("a link");
    let said = text(&on_cluster().stderr);
    assert!(said.contains("SQUARES.commit.json is a link"), "{said}");

    // Code that does not compile is cargo's to explain; the command says which guest.
    fs::write(format!("{guest}/src/main.rs"), "fn main() { no }").expect("a file");
    fails(
        &["run", &guest, "--input", &input],
        1,
        "cargo could not build the guest",
    );
    // Without the crate that has the entry point there is a hint.
    let manifest = fs::read_to_string(format!("{hello}/Cargo.toml")).expect("a file");
    let manifest: String = manifest
        .lines()
        .filter(|line| !line.starts_with("openvm ="))
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(format!("{hello}/Cargo.toml"), manifest).expect("a file");
    let args = ["build", &hello, "--target-dir", &target];
    fails(
        &args,
        1,
        "It has no entry point, which is in the crate openvm",
    );
}

/// The test of the host program that `init` makes: it builds the guest, runs it in the virtual machine and compares.
#[test]
#[ignore = "compiles the SDK for another package: minutes"]
fn test_of_the_host_program_passes() {
    let folder = Folder::new();
    let guest = folder.file("squares");
    let sdk = concat!(env!("CARGO_MANIFEST_DIR"), "/../openvm-metal-sdk");
    succeeds(&["init", &guest, "--sdk", sdk]);
    let manifest = format!("{guest}/host/Cargo.toml");
    // Kept for the next time.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("init-host");
    let output = Command::new("cargo")
        .args(["test", "--manifest-path", &manifest])
        .env("CARGO_TARGET_DIR", target)
        .output()
        .expect("cargo runs");
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("guest_and_library_agree ... ok"), "{said}");
}

/// Flags reach the guest; they compile the standard library again.
#[test]
#[ignore = "compiles the standard library three times, in minutes: cargo test -p openvm-metal-cli --test programs -- --ignored guests"]
fn flags_reach_guests() {
    let folder = Folder::new();
    let guest = folder.file("flagged");
    succeeds(&["init", &guest, "--guest-only"]);
    let main = "fn main() { openvm::io::reveal_u32(if cfg!(tuned) { 111 } else { 222 }, 0); }";
    fs::write(format!("{guest}/src/main.rs"), main).expect("a file");
    let run = |envs: &[(&str, &str)]| {
        let output = command(&["run", &guest])
            .envs(envs.iter().copied())
            .output()
            .expect("the binary runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        (text(&output.stdout), text(&output.stderr))
    };
    let (values, said) = run(&[("RUSTFLAGS", "--cfg tuned")]);
    assert!(values.contains("0x6f000000"), "{values}");
    assert!(
        said.contains("rustc gets --cfg tuned (RUSTFLAGS)"),
        "{said}"
    );
    fs::create_dir(format!("{guest}/.cargo")).expect("a folder");
    let config = "[target.riscv32im-risc0-zkvm-elf]\nrustflags = [\"--cfg\", \"tuned\"]\n";
    fs::write(format!("{guest}/.cargo/config.toml"), config).expect("a file");
    assert!(run(&[]).0.contains("0x6f000000"));
    // As cargo has it: the variable takes the place of the file.
    assert!(run(&[("RUSTFLAGS", "")]).0.contains("0xde000000"));
}

/// Folder, target folder, cargo's folder, home, time and permissions of new files change no byte.
#[test]
#[ignore = "compiles the standard library four times, in minutes: cargo test -p openvm-metal-cli --test programs -- --ignored guests"]
fn builds_are_reproducible() {
    let folder = Folder::new();
    let build = |place: &str, envs: &[(&str, String)], more: &[&str]| {
        let guest = folder.file(place);
        fs::create_dir_all(Path::new(&guest).parent().expect("a folder")).expect("a folder");
        succeeds(&["init", &guest, "--guest-only"]);
        let lock = folder.file("a/squares/Cargo.lock");
        if Path::new(&lock).exists() {
            fs::copy(lock, format!("{guest}/Cargo.lock")).expect("a copy");
        }
        let mut args = vec!["build", &guest, "--json"];
        args.extend(more);
        let output = command(&args)
            .envs(envs.iter().map(|(name, value)| (*name, value)))
            .output()
            .expect("the binary runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        ["elf", "symbols", "vmexe"].map(|name| {
            let path = report[name].as_str().expect("a path").to_owned();
            (fs::read(&path).expect("a file"), path)
        })
    };
    let first = build("a/squares", &[], &[]);
    let target = folder.file("elsewhere/target");
    let home = folder.file("home");
    let envs = [
        ("CARGO_HOME", folder.file("another-cargo-home")),
        ("RUSTUP_HOME", rustup_home()),
        ("HOME", home),
        ("TZ", "Asia/Tokyo".to_owned()),
    ];
    let second = build("b/deeper/squares", &envs, &["--target-dir", &target]);
    for ((ours, path), (theirs, other)) in first.iter().zip(&second) {
        assert!(ours == theirs, "{path} and {other} differ");
    }

    let guest = folder.file("a/squares");
    let (_, vmexe) = &second[2];
    let said = succeeds(&["build", &guest, "--check", vmexe]);
    assert!(said.contains("what the sources of squares make"), "{said}");
    let lib = format!("{guest}/src/lib.rs");
    let changed = fs::read_to_string(&lib)
        .expect("a file")
        .replace("i * i", "i * i * i");
    fs::write(&lib, changed).expect("a file");
    fails(
        &["build", &guest, "--check", vmexe],
        1,
        "the sources, openvm.toml or a profile in .cargo/config.toml differ",
    );
}

/// Variables for a command with another home folder and the toolchains of this one.
fn homes(home: &str) -> [(&'static str, String); 3] {
    let cargo = std::env::var("CARGO_HOME");
    let own = std::env::var("HOME").expect("a home");
    [
        ("HOME", home.to_owned()),
        ("RUSTUP_HOME", rustup_home()),
        (
            "CARGO_HOME",
            cargo.unwrap_or_else(|_| format!("{own}/.cargo")),
        ),
    ]
}

fn rustup_home() -> String {
    let home = std::env::var("HOME").expect("a home");
    std::env::var("RUSTUP_HOME").unwrap_or_else(|_| format!("{home}/.rustup"))
}

#[test]
fn build_errors_are_explained() {
    let folder = guest("fibonacci", "");
    let output = command(&["build", &folder]).env("PATH", "").output();
    let output = output.expect("the binary runs");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(said.contains("rustup does not run"), "{said}");

    let none = Folder::new();
    fs::write(
        none.file("Cargo.toml"),
        "[package]\nname = \"none\"\n[workspace]\n",
    )
    .expect("a file");
    fails(&["build", &none.file("")], 1, "not a guest");
    fs::write(none.file("openvm.toml"), "[app_vm_config]\nrv32i = 3\n").expect("a file");
    fails(&["build", &none.file("")], 2, "openvm.toml");
}
