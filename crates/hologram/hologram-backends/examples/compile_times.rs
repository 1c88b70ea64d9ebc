//! Processor time that compilers take for kernels of long programs, by the shape of the program, beside the estimate.
//!
//! `cargo run --release -p hologram-backends --example compile_times [most seconds of one kernel] [form]`; `OPENVM_METAL_CXX` names the compiler.

use std::path::Path;
use std::time::Instant;

use hologram_backends::metal::compile_seconds;
use hologram_backends::metal::{Effort, UnitCompiler};
use hologram_backends::native::NativeBackend;
use hologram_backends::translate::{translate, Options};
use hologram_backends::{Backend, ExecutionParams, LaunchConfig, Program, Register, Ty};
use openvm_metal_common::DeviceKind;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Text of a program of about so many instructions.
type Shape = fn(usize) -> String;

const SHAPES: [(&str, Shape); 16] = [
    ("u32 arithmetic", integers),
    ("f32 arithmetic", floats),
    ("integer division", divisions),
    ("conversions", conversions),
    ("mixed arithmetic", mixed),
    ("selects", selects),
    ("loads and stores", memory),
    ("computed offsets", computed),
    ("many handles", handles),
    ("shared memory", shared),
    ("barriers", barriers),
    ("skips", skips),
    ("loops", loops),
    ("calls", calls),
    ("exp, sin, pow", math),
    ("exp, sin of f64", doubles),
];

fn repeat(head: &str, n: usize, mut body: impl FnMut(usize) -> String, tail: &str) -> String {
    let mut text = String::from(head);
    for i in 0..n {
        text += &body(i);
    }
    text + tail
}

const START: &str = "mov_imm.u32 r10, 3\ncvt.u32.u64 r12, r255\nadd.u32 r11, r12, r10\n";
const STORE: &str = "mov_imm.u64 r9, 4\nmul.u64 r9, r255, r9\nstg.u32 r11, [r1 + r9]\n";

fn integers(n: usize) -> String {
    let body = |i: usize| {
        let op = ["add", "mul", "xor", "sub"][i % 4];
        format!(
            "{op}.u32 r{}, r{}, r{}\n",
            10 + i % 7,
            10 + i * 5 % 7,
            10 + i * 3 % 7
        )
    };
    let head = START.to_string()
        + "mov.u32 r13, r10\nmov.u32 r14, r11\nmov.u32 r15, r12\nmov.u32 r16, r12\n";
    repeat(&head, n, body, STORE)
}

fn floats(n: usize) -> String {
    let body = |i: usize| {
        let op = ["add", "mul", "sub", "max"][i % 4];
        format!(
            "{op}.f32 r{}, r{}, r{}\n",
            20 + i % 5,
            20 + (i + 4) % 5,
            20 + (i + 2) % 5
        )
    };
    let head = START.to_string()
        + "cvt.f32.u32 r20, r12\nmov_imm.f32 r21, 1.5\nmov_imm.f32 r22, 0.5\nmov.f32 r23, r20\nmov.f32 r24, r21\n";
    repeat(
        &head,
        n,
        body,
        &("cvt.u32.f32 r11, r20\n".to_string() + STORE),
    )
}

fn divisions(n: usize) -> String {
    let body = |_| "div.u32 r12, r11, r10\nadd.u32 r11, r11, r12\nadd.u32 r10, r10, r13\n".into();
    repeat(
        &(START.to_string() + "mov_imm.u32 r13, 7\n"),
        n / 3,
        body,
        STORE,
    )
}

fn conversions(n: usize) -> String {
    let body = |i: usize| match i % 4 {
        0 => "cvt.f32.u32 r20, r11\n",
        1 => "cvt.f16.f32 r21, r20\n",
        2 => "cvt.i32.f16 r22, r21\n",
        _ => "cvt.u32.i32 r11, r22\n",
    };
    repeat(START, n, |i| body(i).into(), STORE)
}

fn mixed(n: usize) -> String {
    let body = |i: usize| {
        let line = match i % 8 {
            0 => "add.u32 r11, r11, r12",
            1 => "mul.f32 r21, r20, r20",
            2 => "cvt.u32.f32 r13, r21",
            3 => "xor.u32 r11, r11, r13",
            4 => "fma.f64 r30, r30, r31, r31",
            5 => "mad.u64 r32, r255, r255, r255",
            6 => "min.f32 r20, r20, r21",
            _ => "shr.u32 r11, r11, r10",
        };
        format!("{line}\n")
    };
    let head = START.to_string()
        + "cvt.f32.u32 r20, r12\nmov_imm.f64 r30, 1.5\nmov_imm.f64 r31, 0.5\nmov_imm.u64 r32, 1\n";
    let tail = "cvt.u32.u64 r13, r32\nadd.u32 r11, r11, r13\ncvt.u32.f64 r13, r30\nadd.u32 r11, r11, r13\n";
    repeat(&head, n, body, &(tail.to_string() + STORE))
}

fn selects(n: usize) -> String {
    let body = |i: usize| match i % 3 {
        0 => format!("set.lt.u32 p{}, r11, r12\n", i % 5),
        1 => format!("sel.u32 r11, p{}, r12, r11\n", (i - 1) % 5),
        _ => "add.u32 r11, r11, r10\n".into(),
    };
    repeat(START, n, body, STORE)
}

/// Loads, sums and stores at fixed places of fixed buffers, in no order that could be a loop.
fn memory(n: usize) -> String {
    let body = |i: usize| {
        let (from, to) = (i * 7919 % 1000 * 4, i * 104_729 % 1000 * 4);
        format!("ldg.u32 r10, [r2 + {from}]\nadd.u32 r11, r11, r10\nstg.u32 r11, [r1 + {to}]\n")
    };
    repeat(START, n / 3, body, "")
}

fn computed(n: usize) -> String {
    let body = |i: usize| {
        let value = 10 + i % 2;
        format!("add.u64 r9, r9, r8\nldg.u32 r{value}, [r2 + r9]\nadd.u32 r12, r12, r{value}\nstg.u32 r12, [r1 + r9]\n")
    };
    let head = START.to_string() + "mov_imm.u64 r9, 4\nmul.u64 r9, r255, r9\nmov_imm.u64 r8, 4\n";
    repeat(&head, n / 4, body, "")
}

fn handles(n: usize) -> String {
    let body = |i: usize| {
        format!(
            "ldg.u64 r3, [r2 + {}]\nldg.u32 r10, [r3 + 4]\n",
            i * 7919 % 500 * 8
        )
    };
    repeat(START, n / 2, body, STORE)
}

fn shared(n: usize) -> String {
    let body = |i: usize| {
        format!(
            "sts.u32 r11, [r5 + {}]\nlds.u32 r11, [r5 + {}]\n",
            i % 64 * 4,
            i * 7 % 64 * 4
        )
    };
    repeat(
        &(START.to_string() + "mov_imm.u64 r5, 0\n"),
        n / 2,
        body,
        STORE,
    )
}

fn barriers(n: usize) -> String {
    let body = |i: usize| {
        format!(
            "sts.u32 r11, [r5 + {}]\nbar_sync {}\nadd.u32 r11, r11, r12\n",
            i % 64 * 4,
            i % 4
        )
    };
    repeat(
        &(START.to_string() + "mov_imm.u64 r5, 0\n"),
        n / 3,
        body,
        STORE,
    )
}

fn skips(n: usize) -> String {
    let body = |i: usize| {
        format!("set.lt.u32 p0, r11, r12\nbra @s{i}, p0\nadd.u32 r11, r11, r12\nxor.u32 r12, r12, r11\n@s{i}:\n")
    };
    repeat(START, n / 4, body, STORE)
}

fn loops(n: usize) -> String {
    let body = |i: usize| {
        format!("mov_imm.u32 r13, {i}\n@l{i}:\nadd.u32 r11, r11, r12\nloop r13, @l{i}\n")
    };
    repeat(START, n / 3, body, STORE)
}

/// Calls of routines of two instructions, each called from ten places.
fn calls(n: usize) -> String {
    let routines = (n / 13).max(1);
    let text = repeat(
        START,
        routines * 10,
        |i| format!("call @f{}\n", i % routines),
        STORE,
    );
    let body = |i: usize| format!("@f{i}:\nadd.u32 r11, r11, r12\nxor.u32 r11, r11, r10\nret\n");
    repeat(&(text + "exit\n"), routines, body, "")
}

fn math(n: usize) -> String {
    let body = |i: usize| match i % 4 {
        0 => "sin.f32 r20, r21\n",
        1 => "exp.f32 r21, r20\n",
        2 => "pow.f32 r20, r21, r22\n",
        _ => "add.f32 r21, r20, r22\n",
    };
    let head =
        START.to_string() + "cvt.f32.u32 r20, r12\nmov.f32 r21, r20\nmov_imm.f32 r22, 1.25\n";
    repeat(
        &head,
        n,
        |i| body(i).into(),
        &("cvt.u32.f32 r11, r20\n".to_string() + STORE),
    )
}

fn doubles(n: usize) -> String {
    math(n).replace("f32", "f64")
}

/// Forms of a kernel: name, whether accesses are known to lie inside, effort.
const FORMS: [(&str, bool, Effort); 3] = [
    ("lanes", false, Effort::Usual),
    ("vectors", true, Effort::Usual),
    ("least", false, Effort::Least),
];

/// Shapes that are never vector code: lanes meet, jump back, or look handles up.
const NO_VECTORS: [&str; 5] = [
    "many handles",
    "shared memory",
    "barriers",
    "loops",
    "calls",
];

/// Seconds of processor time of the compilers that this process has run.
fn spent() -> Outcome<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let fields = stat.rsplit(')').next().unwrap_or_default();
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let ticks = |at: usize| -> Outcome<f64> { Ok(fields.get(at).ok_or("no times")?.parse()?) };
    Ok((ticks(13)? + ticks(14)?) / 100.0)
}

/// First and second run of a program on the processor, in 4,096 lanes, with an empty folder of kernels.
fn first_runs(folder: &Path) -> Outcome {
    println!("shape,instructions,first,then,interpreted");
    for (name, shape) in [
        ("loads and stores", memory as Shape),
        ("calls", calls),
        ("u32 arithmetic", integers),
    ] {
        for n in [500, 1000, 1400, 2000, 10_000, 30_000] {
            let program: Program = shape(n).parse()?;
            let mut backend = NativeBackend::with_scratch(folder.join(format!("{name} {n}")));
            let mut params = ExecutionParams::new(LaunchConfig::linear(4096, 256));
            for register in [1, 2] {
                let buffer = backend.allocate_buffer(1 << 16)?;
                params = params.with_u64(Register::new(register), buffer.raw());
            }
            let mut run = || -> Outcome<f64> {
                let start = Instant::now();
                backend.execute_program_with_params(&program, &params)?;
                Ok(start.elapsed().as_secs_f64())
            };
            let (first, then) = (run()?, run()?);
            let interpreted = backend.stats().interpreted;
            println!(
                "{name},{},{first:.2},{then:.3},{interpreted}",
                program.len()
            );
        }
    }
    Ok(())
}

fn main() -> Outcome {
    let most: f64 = std::env::args()
        .nth(1)
        .map_or(Ok(8.0), |text| text.parse())?;
    let only = std::env::args().nth(2);
    let folder =
        std::env::temp_dir().join(format!("hologram-compile-times-{}", std::process::id()));
    if only.as_deref() == Some("first") {
        first_runs(&folder)?;
        return Ok(std::fs::remove_dir_all(&folder)?);
    }
    println!("shape,form,instructions,text,estimate,seconds");
    for (form, in_bounds, effort) in FORMS {
        if only.as_ref().is_some_and(|only| only != form) {
            continue;
        }
        let compiler = UnitCompiler::new(DeviceKind::Cpu, folder.clone(), effort);
        for (name, shape) in SHAPES {
            if in_bounds && NO_VECTORS.contains(&name) {
                continue;
            }
            for n in [300, 1000, 2000, 4000, 10_000] {
                let program: Program = shape(n).parse()?;
                let options = Options {
                    linear: true,
                    in_bounds,
                    initial: vec![(Register::new(1), Ty::U64), (Register::new(2), Ty::U64)],
                    ..Options::default()
                };
                let plan = translate(&program, &options)?;
                let before = spent()?;
                compiler.compile("unit", &[("program", &plan)])?;
                let seconds = spent()? - before;
                println!(
                    "{name},{form},{},{},{:.2},{seconds:.2}",
                    program.len(),
                    plan.text.len(),
                    compile_seconds(&plan, effort),
                );
                if seconds > most {
                    break;
                }
            }
        }
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}
