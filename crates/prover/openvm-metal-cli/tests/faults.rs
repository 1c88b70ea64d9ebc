//! Faults of the machine: memory that ends, small stacks, full disks, streams that take nothing. Each is said in the user's terms,
//! and no result is lost to it.

use std::{
    fs::{self, File},
    os::unix::{
        fs::PermissionsExt as _,
        process::{CommandExt as _, ExitStatusExt as _},
    },
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

/// A folder of one test, in which its commands run; removed at the end.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::with_prefix("openvm-metal-faults-").expect("a folder"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The command, in this folder. It keeps results nowhere outside of the folder.
    fn command(&self, args: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_openvm-metal"));
        command.args(args.split(' ')).current_dir(&self.0);
        for folder in ["HOME", "TMPDIR"] {
            command.env(folder, self.0.path());
        }
        for variable in ["OPENVM_METAL_DEVICE", "RUST_BACKTRACE", "XDG_STATE_HOME"] {
            command.env_remove(variable);
        }
        command
    }

    fn output(&self, args: &str) -> Output {
        self.command(args).output().expect("the binary runs")
    }

    /// A proof of an execution and what verifies it.
    fn proof(&self) {
        let made = self.output(&prove("app", "--proof proof --vk vk"));
        assert!(made.status.success(), "{}", said(&made));
    }

    fn verifies(&self, proof: &str, vk: &str) {
        let verified = self.output(&format!(
            "verify app {proof} --vk {vk} --trust-vk --allow-insecure"
        ));
        assert!(verified.status.success(), "{proof}: {}", said(&verified));
    }
}

/// A program and its input.
fn fibonacci() -> String {
    let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/guests/fibonacci");
    let guests = guests.display();
    format!("{guests}/fibonacci.elf --input {guests}/input.json")
}

fn prove(kind: &str, options: &str) -> String {
    format!("prove {kind} {} --toy --device cpu {options}", fibonacci())
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Asserts that a command ended by itself, with an error that has this text, and said nothing of panics.
fn failed_with(output: &Output, text: &str) {
    let message = said(output);
    assert_eq!(
        output.status.code(),
        Some(1),
        "{:?}: {message}",
        output.status
    );
    assert!(message.contains("error: "), "{message}");
    assert!(message.contains(text), "{message}");
    says_no_panic(&message);
}

fn says_no_panic(message: &str) {
    for text in [
        "panicked",
        "Result::unwrap",
        "memory allocation of",
        "stack backtrace",
        "a bug of",
    ] {
        assert!(!message.contains(text), "{message}");
    }
}

/// Sets a resource limit of a command.
macro_rules! limit {
    ($command:expr, $resource:ident, $bytes:expr) => {{
        let bytes = $bytes;
        let limit = libc::rlimit {
            rlim_cur: bytes,
            rlim_max: bytes,
        };
        let set = move || {
            // SAFETY: the call reads one `rlimit`, which this closure owns.
            match unsafe { libc::setrlimit(libc::$resource, &limit) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: between fork and exec only `setrlimit` is called, which allocates nothing and takes no lock.
        unsafe { $command.pre_exec(set) }
    }};
}

/// Under each limit a command ends well or says that memory has ended.
#[cfg(target_os = "linux")]
#[test]
fn lack_of_memory_is_explained() {
    let folder = Folder::new();
    folder.proof();
    let program = fibonacci();
    let elf = program.split(' ').next().expect("a program");
    // The guest's memory alone is 512 MiB of address space, and a proof takes it several times; other commands may end well.
    let (run, app) = (
        format!("run {program}"),
        prove("app", "--proof out --vk out.vk"),
    );
    for (mib, must_fail, command) in [
        (120, true, run.clone()),
        (512, true, run),
        (120, false, format!("keygen {elf} --toy --out keys")),
        (
            120,
            false,
            "verify app proof --vk vk --trust-vk --allow-insecure".into(),
        ),
        (
            300,
            false,
            format!("commit {elf} --toy --device cpu --out keys"),
        ),
        (300, true, app.clone()),
        (512, true, app.clone()),
        (1024, true, app),
        (1024, true, prove("stark", "--proof out --vk out.vk")),
    ] {
        let output = limit!(folder.command(&command), RLIMIT_AS, mib << 20).output();
        let output = output.expect("the binary runs");
        assert!(
            !(must_fail && output.status.success()),
            "{mib} MiB: {command}"
        );
        if !output.status.success() {
            failed_with(&output, "RLIMIT_AS allows the process");
            let message = said(&output);
            let texts = ["out of memory", "out of device memory", "of host memory"];
            assert!(texts.iter().any(|text| message.contains(text)), "{message}");
        }
    }
    // A budget is planned with what the process may have.
    let devices = limit!(folder.command("devices"), RLIMIT_AS, 2048 << 20).output();
    let devices = String::from_utf8(devices.expect("the binary runs").stdout).expect("text");
    assert!(devices.contains("1.5 GiB"), "{devices}");
}

#[test]
fn small_stack_is_enough() {
    let folder = Folder::new();
    for command in [
        format!("run {}", fibonacci()),
        prove("app", "--proof proof --vk vk"),
        "verify app proof --vk vk --trust-vk --allow-insecure".into(),
        "--help".into(),
    ] {
        let output = limit!(folder.command(&command), RLIMIT_STACK, 64 << 10).output();
        let output = output.expect("the binary runs");
        assert!(output.status.success(), "{command}: {}", said(&output));
    }
}

/// The file behind "it is kept as" in a message.
fn kept(message: &str, number: usize) -> PathBuf {
    let rest = message.split("it is kept as ").nth(number + 1);
    let line = rest.and_then(|rest| rest.lines().next());
    PathBuf::from(line.unwrap_or_else(|| panic!("{message}")))
}

#[cfg(target_os = "linux")]
#[test]
fn proof_without_room_goes_elsewhere() {
    let folder = Folder::new();
    let output = folder.output(&prove("app", "--proof /dev/full --vk vk --json"));
    failed_with(
        &output,
        "/dev/full: an application proof cannot be written: No space left",
    );
    let proof = kept(&said(&output), 0);
    assert!(
        proof.starts_with(folder.0.path().canonicalize().expect("a folder")),
        "{proof:?}"
    );
    let private = proof.parent().expect("a folder").metadata().expect("there");
    assert_eq!(private.permissions().mode() & 0o777, 0o700);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains(&format!("\"proof\": \"{}\"", proof.display())),
        "{text}"
    );
    folder.verifies(&proof.display().to_string(), "vk");

    // Circuits' proofs and keys as well.
    let circuit = "circuit fibonacci --log-stacked 14 --device cpu --out /dev/full --vk circuit.vk";
    let output = folder.output(circuit);
    failed_with(&output, "/dev/full: a proof of a circuit cannot be written");
    let proof = kept(&said(&output), 0);
    let verify = format!("verify circuit {} circuit.vk", proof.display());
    let verified = folder.output(&format!("{verify} --trust-vk"));
    assert!(verified.status.success(), "{}", said(&verified));

    // A limit of the process holds everywhere: an error, not the end by a signal.
    let mut command = folder.command(&prove("app", "--proof small --vk small.vk"));
    let output = limit!(command, RLIMIT_FSIZE, 1000).output();
    let output = output.expect("the binary runs");
    failed_with(
        &output,
        "small: an application proof cannot be written: File too large",
    );
    assert!(
        said(&output).contains("no other place takes it"),
        "{}",
        said(&output)
    );
    assert!(!folder.file("small").exists());
    let left = fs::read_dir(&folder.0).expect("a folder").flatten();
    let left = left.filter(|entry| {
        entry
            .file_name()
            .to_string_lossy()
            .starts_with("openvm-metal-kept-")
    });
    assert_eq!(
        left.count(),
        2,
        "no folder stays of a place that takes nothing"
    );
}

/// A file system of its own that gets full. Only root may mount one.
#[cfg(target_os = "linux")]
#[test]
fn full_disk_leaves_no_partial_file() {
    let folder = Folder::new();
    let disk = folder.file("disk");
    fs::create_dir(&disk).expect("a folder");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=16k", "none"])
        .arg(&disk)
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("left out: this user may not mount a file system");
        return;
    }
    let output = folder.output(&prove("app", "--proof disk/proof --vk disk/vk"));
    let left = fs::read_dir(&disk).expect("a folder").count();
    let unmounted = Command::new("umount").arg(&disk).status();
    assert!(unmounted.expect("umount").success());
    failed_with(
        &output,
        "disk/proof: an application proof cannot be written: No space left",
    );
    assert_eq!(left, 0);
    let (proof, vk) = (kept(&said(&output), 0), kept(&said(&output), 1));
    folder.verifies(&proof.display().to_string(), &vk.display().to_string());
}

#[test]
fn equal_files_are_refused_before_work() {
    let folder = Folder::new();
    let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/guests");
    fs::copy(guests.join("fibonacci/openvm.toml"), folder.file("there")).expect("copied");
    fs::hard_link(folder.file("there"), folder.file("link")).expect("a link");
    let program = folder.file("program.elf");
    let elf = fibonacci();
    fs::copy(elf.split(' ').next().expect("a program"), &program).expect("copied");
    let bytes = fs::read(&program).expect("a program");
    for (files, names) in [
        ("--proof a.out --vk a.out", ["--proof", "--vk"]),
        ("--proof a.out --vk ./a.out", ["--proof", "--vk"]),
        ("--proof there --vk link", ["--proof", "--vk"]),
        ("--vk ./program.elf", ["the program", "--vk"]),
        ("--input there --proof link", ["--input", "--proof"]),
        ("--config there --proof link", ["--config", "--proof"]),
    ] {
        let output = folder.output(&format!("prove app program.elf --toy --device cpu {files}"));
        let message = said(&output);
        assert_eq!(output.status.code(), Some(2), "{files}: {message}");
        let [one, other] = names;
        assert!(
            message.contains(&format!("{one} and {other} are the same file")),
            "{files}: {message}"
        );
    }
    assert_eq!(fs::read(&program).expect("a program"), bytes);
    assert!(!folder.file("a.out").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn full_streams_do_not_end_the_work() {
    let folder = Folder::new();
    let full = || {
        File::options()
            .write(true)
            .open("/dev/full")
            .expect("a device")
    };
    // A log on a full disk.
    let mut command = folder.command(&format!("run {}", fibonacci()));
    let output = command.env("RUST_LOG", "info").stderr(full()).output();
    assert_eq!(output.expect("the binary runs").status.code(), Some(0));
    // The report cannot be written, the proof is there.
    let mut command = folder.command(&prove("app", "--proof other --vk vk"));
    let output = command.stdout(full()).stderr(Stdio::piped()).output();
    failed_with(
        &output.expect("the binary runs"),
        "cannot write: No space left",
    );
    folder.verifies("other", "vk");
    // No streams at all.
    let closed = format!(
        "exec '{}' {} <&- >&- 2>&-",
        env!("CARGO_BIN_EXE_openvm-metal"),
        prove("app", "--proof closed --vk vk")
    );
    let mut shell = Command::new("sh");
    let status = shell.args(["-c", &closed]).current_dir(&folder.0).status();
    let status = status.expect("a shell");
    assert_eq!((status.code(), status.signal()), (Some(0), None));
    folder.verifies("closed", "vk");
}
