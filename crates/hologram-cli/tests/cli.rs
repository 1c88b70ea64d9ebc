//! The command as a user runs it: results, clear errors, exit statuses.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// `out[i] = a[i] + b[i]` for the lanes below r4.
const ADD: &str = "    set.ltu.u64 p0, r255, r4
    bra @work, p0
    exit
@work:
    mov_imm.u32 r5, 2
    shl.u64 r6, r255, r5
    ldg.f32 r7, [r1 + r6]
    ldg.f32 r8, [r2 + r6]
    add.f32 r9, r7, r8
    stg.f32 r9, [r3 + r6]
";

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hologram-cli-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("folder");
        Self(path)
    }

    fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, contents).expect("file");
        path.display().to_string()
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _: Result<(), _> = std::fs::remove_dir_all(&self.0);
    }
}

fn hologram(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_hologram"))
        .args(args)
        .output()
        .expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn succeeds(args: &[&str]) -> String {
    let output = hologram(args);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

/// Runs a command that must fail with `status`, naming `part`, without a panic.
fn fails(args: &[&str], status: i32, part: &str) {
    let output = hologram(args);
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{args:?}: {message}");
    assert!(message.contains(part), "{args:?}: {message}");
    assert!(!message.contains("panicked"), "{args:?}: {message}");
}

fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&(header.len() as u16).to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(data);
    bytes
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

const BACKENDS: &[&str] = &["cpu", "cpu-kernels"];

#[test]
fn a_program_runs_on_arrays() {
    let folder = Folder::new("run");
    let program = folder.file("add.atlas", ADD);
    let a = folder.file("a.npy", npy("<f4", "(5,)", &floats(&[1., 2., 3., 4., 5.])));
    let b = folder.file(
        "b.npy",
        npy("<f4", "(5,)", &floats(&[10., 20., 30., 40., 0.5])),
    );
    for backend in BACKENDS {
        let out = folder.path("sum.npy");
        let (a, b) = (format!("a={a}"), format!("b={b}"));
        let to = format!("c={out}");
        let shown = succeeds(&[
            "run",
            &program,
            "--grid",
            "2",
            "--block",
            "4",
            "--buffer",
            &a,
            "--buffer",
            &b,
            "--buffer",
            "c=f32:1x5",
            "--register",
            "r1=@a",
            "--register",
            "r2=@b",
            "--register",
            "r3=@c",
            "--register",
            "r4=5",
            "--out",
            &to,
            "--print",
            "c",
            "--backend",
            backend,
        ]);
        assert_eq!(shown, "c: f32 [1, 5] 11.0 22.0 33.0 44.0 5.5\n");
        let bytes = std::fs::read(out).expect("result");
        assert_eq!(
            bytes[bytes.len() - 20..],
            floats(&[11., 22., 33., 44., 5.5])
        );
        let header = text(&bytes[10..bytes.len() - 20]);
        assert!(
            header.contains("'descr': '<f4'") && header.contains("'shape': (1, 5)"),
            "{header}"
        );
    }
}

#[test]
fn handles_are_numbered_in_order() {
    let folder = Folder::new("handles");
    let program = folder.file(
        "p.atlas",
        "ldg.u16 r0, [buf1 + 2]\nstg.u16 r0, [buf2 + 0]\n",
    );
    let a = folder.file("a.npy", npy("<u2", "(2,)", &[1, 0, 7, 1]));
    for backend in BACKENDS {
        let shown = succeeds(&[
            "run",
            &program,
            "--buffer",
            &a,
            "--buffer",
            "u16:1",
            "--print",
            "b1",
            "--print",
            "b0",
            "--backend",
            backend,
            "--quiet",
        ]);
        assert_eq!(shown, "b1: u16 [1] 263\nb0: u16 [2] 1 263\n");
        let empty = folder.file("empty.atlas", "exit");
        assert_eq!(
            succeeds(&["--backend", backend, "run", &empty, "--quiet"]),
            ""
        );
    }
}

#[test]
fn faults_name_lane_and_instruction() {
    let folder = Folder::new("faults");
    let bounds = folder.file("b.atlas", "stg.u64 r255, [buf1 + 4]");
    let endless = folder.file("e.atlas", "@a: bra @a");
    let zero = folder.file("z.atlas", "sub.u32 r0, r252, r252\ndiv.u32 r1, r0, r0");
    for backend in BACKENDS {
        let on = ["--backend", backend];
        let with = |rest: &[&'static str]| [&["run"], rest, &on[..]].concat();
        let at = |path: &str, rest: &[&'static str], part: &str| {
            let mut args = with(rest);
            args.insert(1, path);
            fails(&args, 1, part);
        };
        at(
            &bounds,
            &["--buffer", "u8:11"],
            "lane 0, pc 0 (`stg.u64 r255, [buf1 + 4]`): 8 bytes at 4 of buffer 1, which has 11",
        );
        at(&bounds, &[], "buffer 1 does not exist");
        at(&endless, &["--steps", "1000"], "more than 1000 steps");
        at(
            &zero,
            &["--grid", "3,2"],
            "lane 0, pc 1 (`div.u32 r1, r0, r0`): division by zero",
        );
    }
}

#[test]
fn programs_are_checked() {
    let folder = Folder::new("check");
    let program = folder.file("add.atlas", ADD);
    let presets = [
        "--register",
        "r1=@a",
        "--register",
        "r2=1",
        "--register",
        "r3=1",
        "--register",
        "r4=1",
    ];
    let args = [&["check", &program][..], &presets].concat();
    assert_eq!(
        succeeds(&args),
        "valid: instructions 9, labels 1, basic blocks 3\n"
    );
    fails(
        &["check", &program],
        1,
        "pc 0 (`set.ltu.u64 p0, r255, r4`): r4 is not initialised",
    );
    fails(&["check", &program], 1, "hint: `--register");
    fails(
        &[&args[..], &["--block", "2000"]].concat(),
        2,
        "block.x is 2000, must be 1 to 1024",
    );
    fails(
        &[&args[..], &["--shared", "40000"]].concat(),
        2,
        "40000 bytes of shared memory",
    );
    fails(&[&args[..], &["--grid", "0"]].concat(), 2, "grid.x is 0");
    let wrong = folder.file("wrong.atlas", "exit\nadd.f16 r1, r2");
    fails(
        &["check", &wrong],
        1,
        "wrong.atlas: line 2: src2: missing register",
    );
    let typed = folder.file("typed.atlas", "mov_imm.f16 r1, 0\nadd.f16 r1, r1, r1");
    fails(
        &["check", &typed],
        1,
        "pc 1 (`add.f16 r1, r1, r1`): type f16",
    );
    fails(&["check", &folder.path("none")], 1, "none: ");
}

#[test]
fn programs_are_assembled_and_shown() {
    let folder = Folder::new("asm");
    let program = folder.file("add.atlas", ADD);
    let bytes = folder.path("add.bin");
    assert_eq!(succeeds(&["asm", &program, "--out", &bytes]), "");
    assert!(std::fs::read(&bytes)
        .expect("bytes")
        .starts_with(b"HOLOATLS"));
    assert_eq!(succeeds(&["disasm", &bytes]), ADD);
    let numbered = succeeds(&["disasm", &bytes, "--pc"]);
    assert!(
        numbered.contains("exit                                         ; 2\n@work:\n"),
        "{numbered}"
    );
    let back = folder.path("back.atlas");
    succeeds(&["disasm", &bytes, "--out", &back]);
    assert_eq!(std::fs::read_to_string(back).expect("text"), ADD);
    let cut = folder.file("cut.bin", &std::fs::read(&bytes).expect("bytes")[..20]);
    fails(&["disasm", &cut], 1, "cut.bin: byte ");
    fails(
        &["asm", &program, "--out", &folder.path("no/folder")],
        1,
        "cannot write",
    );
}

#[test]
fn kernels_are_shown() {
    let folder = Folder::new("msl");
    let program = folder.file("add.atlas", ADD);
    let presets = [
        "--register",
        "r1=@a",
        "--register",
        "r2=@b",
        "--register",
        "r3=@c",
        "--register",
        "r4=5",
    ];
    let kernel = succeeds(&[&["emit-msl", &program][..], &presets].concat());
    assert!(kernel.contains("kernel void"), "{kernel}");
    fails(&["emit-msl", &program], 1, "is not initialised");
    let double = folder.file("d.atlas", "mov_imm.f64 r1, 0\nexp.f64 r1, r1");
    fails(&["emit-msl", &double, "--apple"], 1, "no f64");
}

#[test]
fn wrong_arguments_are_refused() {
    let folder = Folder::new("usage");
    let program = folder.file("p.atlas", "exit");
    let run = |rest: &[&str], status: i32, part: &str| {
        let args = [&["run", &program, "--backend", "cpu"], rest].concat();
        fails(&args, status, part);
    };
    run(&["--grid", "1,2,3,4"], 2, "at most x, y and z");
    run(&["--grid", "a"], 2, "`a` is no number");
    run(&["--block", "-1"], 2, "");
    run(&["--buffer", "a="], 2, "a file or TYPE:SHAPE is missing");
    run(
        &["--buffer", "a=u8:1", "--buffer", "a=u8:2"],
        2,
        "two buffers are named `a`",
    );
    run(&["--buffer", "u8:18446744073709551615x2"], 2, "do not fit");
    run(&["--buffer", &folder.path("none.npy")], 1, "cannot read");
    run(&["--buffer", &program], 1, "no .npy file");
    run(&["--register", "r1=@a"], 2, "no buffer is named `a`");
    run(&["--register", "r300=1"], 2, "r0 to r255");
    run(&["--register", "r1=u8:256"], 2, "no u8");
    run(
        &["--out", "b0=x.npy"],
        2,
        "no buffer is named `b0`; there are: none",
    );
    run(&["--buffer", "u8:1", "--print", "c"], 2, "there are: b0");
    run(&["--out", "b0"], 2, "no file after");
    run(
        &[
            "--buffer",
            "bf16:1",
            "--out",
            &format!("b0={}", folder.path("x.npy")),
        ],
        1,
        "no type bf16",
    );
    fails(&["run", &program, "--backend", "tpu"], 2, "tpu");
    run(&["--fallback", "often"], 2, "when-unsupported");
    let twice = [
        "--backend",
        "cpu-kernels",
        "run",
        &program,
        "--backend",
        "cpu",
    ];
    fails(&twice, 2, "two different backends");
    fails(&["--backend", "cpu", "check", &program], 2, "only `run`");
    fails(&["run"], 2, "PROGRAM");
    fails(&[], 2, "Usage");
    fails(&["fly"], 2, "fly");
    assert!(Path::new(&program).exists());
}

#[test]
fn a_missing_device_is_an_error() {
    let folder = Folder::new("device");
    let program = folder.file("p.atlas", "exit");
    if cfg!(not(target_vendor = "apple")) {
        fails(&["run", &program, "--backend", "metal"], 1, "device:");
    }
}

#[test]
fn the_interpreter_takes_over_only_when_it_may() {
    let folder = Folder::new("fallback");
    let program = folder.file(
        "p.atlas",
        "pool_alloc r9, 8\nmov_imm.u32 r1, 3\nstg.u32 r1, [buf1 + 4]",
    );
    let args = [
        "run",
        &program,
        "--backend",
        "cpu-kernels",
        "--buffer",
        "u32:2",
        "--print",
        "b0",
    ];
    fails(&args, 1, "when-unsupported");
    let output = hologram(&[&args[..], &["--fallback", "when-unsupported"]].concat());
    assert!(output.status.success());
    assert_eq!(text(&output.stdout), "b0: u32 [2] 0 3\n");
    assert!(text(&output.stderr).contains("by the interpreter"));
}

#[test]
fn wrong_programs_are_tried() {
    let shown = succeeds(&["fuzz", "--hostile", "--programs", "200", "--seed", "7"]);
    let counts: Vec<u64> = shown
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .collect();
    assert_eq!(counts.first(), Some(&200), "{shown}");
    assert_eq!(counts[1..].iter().sum::<u64>(), 200, "{shown}");
    assert_eq!(
        shown,
        succeeds(&["fuzz", "--hostile", "--programs", "200", "--seed", "7"])
    );
    fails(&["fuzz", "--hostile", "--device", "cpu"], 2, "--device");
}

#[test]
fn kernels_are_compared_with_the_interpreter() {
    let shown = succeeds(&["fuzz", "--loops", "--programs", "8"]);
    assert!(shown.starts_with("8 loops: equal; "), "{shown}");
    let shown = succeeds(&["fuzz", "--programs", "20", "--seed", "3", "--jobs", "2"]);
    assert!(shown.starts_with("20 programs, "), "{shown}");
    let folder = std::env::temp_dir().join("hologram-cli-fuzz");
    let folder = folder.to_str().expect("a path");
    let made = succeeds(&["fuzz", "--programs", "2", "--emit-dir", folder]);
    assert!(made.contains("kernels for cpu"), "{made}");
    let shown = succeeds(&[
        "fuzz",
        "--programs",
        "2",
        "--optimised",
        "--kernels",
        folder,
    ]);
    assert!(shown.starts_with("2 programs, "), "{shown}");
    fails(&["fuzz", "--programs", "1", "--device", "tpu"], 2, "tpu");
    fails(&["fuzz", "--programs", "1", "--jobs", "0"], 2, "--jobs");
    let args = ["fuzz", "--fallback", "--programs", "20", "--seed", "3"];
    let shown = succeeds(&args);
    assert!(shown.starts_with("20 programs"), "{shown}");
}
