//! Programs checked, assembled, shown and compared.

use std::path::Path;

use crate::support::{fails, succeeds, Folder, ADD};

#[test]
fn programs_are_checked() {
    let folder = Folder::new();
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
    let folder = Folder::new();
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
    let folder = Folder::new();
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
    let folder = Folder::new();
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
    let args = ["fuzz", "--programs", "2", "--optimised", "--kernels"];
    for _ in 0..2 {
        let shown = succeeds(&[&args[..], &[folder]].concat());
        assert!(shown.starts_with("2 programs, "), "{shown}");
    }
    fails(&["fuzz", "--programs", "1", "--device", "tpu"], 2, "tpu");
    fails(&["fuzz", "--programs", "1", "--jobs", "0"], 2, "--jobs");
    let args = ["fuzz", "--fallback", "--programs", "20", "--seed", "3"];
    let shown = succeeds(&args);
    assert!(shown.starts_with("20 programs"), "{shown}");
}
