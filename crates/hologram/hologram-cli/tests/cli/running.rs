//! Programs that run on arrays.

use crate::support::{fails, hologram, succeeds, text, Folder, ADD};

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

const BACKENDS: &[&str] = &["cpu", "interpreter", "cpu-kernels"];

#[test]
fn a_program_runs_on_arrays() {
    let folder = Folder::new();
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
    let folder = Folder::new();
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
    let folder = Folder::new();
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
fn a_missing_device_is_an_error() {
    let folder = Folder::new();
    let program = folder.file("p.atlas", "exit");
    if cfg!(not(target_vendor = "apple")) {
        fails(&["run", &program, "--backend", "metal"], 1, "device:");
    }
}

#[test]
fn the_interpreter_takes_over_only_when_it_may() {
    let folder = Folder::new();
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
fn a_program_that_does_not_end_is_ended() {
    let folder = Folder::new();
    let program = folder.file("endless.atlas", "mov_imm.u32 r0, 1\n@l:\nbra @l\n");
    for backend in BACKENDS {
        let limited = ["run", &program, "--time-limit", "0.2", "--backend", backend];
        // More steps than any processor does in that time.
        let args = [&limited[..], &["--steps", "1000000000000000"]].concat();
        fails(&args, 1, "`--time-limit SECONDS` allows more time");
    }
    fails(&["run", &program, "--time-limit=-1"], 2, "--time-limit");
}
