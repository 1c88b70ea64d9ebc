//! Speed of loops of one lane, as one lane and with many.
//!
//! `cargo run --release -p hologram-backends --example loops -- --device cpu|cuda|metal [--elements N]`;
//! `--kernels FOLDER` keeps the kernels there, `--emit-dir FOLDER` only compiles them, for a machine without a compiler.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::{Ahead, Effort, MetalBackend};
use hologram_backends::translate::reroll;
use hologram_backends::{Backend, BufferHandle, ExecutionParams, Program, Register, Ty};
use openvm_metal_common::{Device, DeviceKind, DeviceProfile, MetalContext};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Name, body over the offset in `r5`, what stands behind.
const LOOPS: [(&str, &str, &str); 6] = [
    ("relu f32", "ldg.f32 r10, [r1 + r5]\nmax.f32 r10, r10, r12\nstg.f32 r10, [r3 + r5]", ""),
    ("add f32", "ldg.f32 r10, [r1 + r5]\nldg.f32 r11, [r2 + r5]\nadd.f32 r10, r10, r11\nstg.f32 r10, [r3 + r5]", ""),
    ("sum u32", "ldg.u32 r10, [r1 + r5]\nadd.u32 r13, r13, r10", "stg.u32 r13, [r3 + 0]\n"),
    ("max f32", "ldg.f32 r10, [r1 + r5]\nmax.f32 r12, r12, r10", "stg.f32 r12, [r3 + 0]\n"),
    ("sum f32", "ldg.f32 r10, [r1 + r5]\nadd.f32 r12, r12, r10", "stg.f32 r12, [r3 + 0]\n"),
    ("dot f32", "ldg.f32 r10, [r1 + r5]\nldg.f32 r11, [r2 + r5]\nfma.f32 r12, r10, r11, r12", "stg.f32 r12, [r3 + 0]\n"),
];

/// The loop; with a store before it, it stays one lane.
fn program(body: &str, behind: &str, one_lane: bool) -> Outcome<Program> {
    let store = if one_lane {
        "stg.u32 r13, [r4 + 0]\n"
    } else {
        ""
    };
    let text = format!(
        "mov_imm.u64 r5, 0\nmov_imm.u64 r6, 4\nmov_imm.f32 r12, 0\nmov_imm.u32 r13, 0\n{store}@body:\n{body}\n\
         add.u64 r5, r5, r6\nloop r9, @body\n{behind}"
    );
    Ok(text.parse()?)
}

/// Handles 1 to 4 and `r9` = elements - 1.
fn params(elements: u64) -> ExecutionParams {
    let mut params = ExecutionParams::default().with_reassociation();
    for handle in 1..=4 {
        params = params.with_u64(Register::new(handle), handle.into());
    }
    params.with_register(Register::new(9), Ty::U32, elements - 1)
}

/// Programs with one lane and with many, by turns.
fn programs() -> Outcome<Vec<Program>> {
    let both = LOOPS
        .iter()
        .flat_map(|(_, body, behind)| [(body, behind, true), (body, behind, false)]);
    both.map(|(body, behind, one)| program(body, behind, one))
        .collect()
}

fn allocate(backend: &mut dyn Backend, elements: u64) -> Outcome {
    let values: Vec<u8> = (0..elements)
        .flat_map(|i| ((i % 251) as f32 / 16.0 - 5.0).to_le_bytes())
        .collect();
    for handle in 1..=4 {
        let made = backend.allocate_buffer(values.len())?;
        assert_eq!(made, BufferHandle::from_raw(handle));
        backend.copy_to_buffer(made, &values)?;
    }
    Ok(())
}

/// The shortest of several runs, the first left out.
fn best(
    backend: &mut dyn Backend,
    program: &Program,
    params: &ExecutionParams,
    runs: usize,
) -> Outcome<Duration> {
    backend.execute_program_with_params(program, params)?;
    let mut least = Duration::MAX;
    for _ in 0..runs {
        let start = Instant::now();
        backend.execute_program_with_params(program, params)?;
        least = least.min(start.elapsed());
    }
    Ok(least)
}

/// Compiles the kernels to a folder.
fn emit(kind: DeviceKind, folder: PathBuf, elements: u64) -> Outcome {
    let params = params(elements);
    let size_of = |handle| (1..=4).contains(&handle).then_some(4 * elements as usize);
    let mut launched = Vec::new();
    for program in programs()? {
        match reroll(
            &program,
            &params,
            size_of,
            DeviceProfile::typical(kind).execution.into(),
        ) {
            Some(many) => launched.extend(many.stages),
            None => launched.push((program, params.clone())),
        }
    }
    let mut ahead = Ahead::new(kind, folder)?;
    let list: Vec<_> = launched
        .iter()
        .map(|(program, params)| (program, params))
        .collect();
    ahead.compile(&list)?;
    println!("{} kernels", ahead.kernels());
    Ok(())
}

fn main() -> Outcome {
    let (mut device, mut elements) = (Device::Cpu, 1u64 << 20);
    let mut kernels = std::env::temp_dir().join("hologram-loops");
    let mut folder = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(name) = arguments.next() {
        let value = arguments
            .next()
            .ok_or_else(|| format!("{name} needs a value"))?;
        match name.as_str() {
            "--device" => device = value.parse()?,
            "--elements" => elements = value.parse::<u64>()?.clamp(1, 1 << 28),
            "--kernels" => kernels = value.into(),
            "--emit-dir" => folder = Some(PathBuf::from(value)),
            _ => return Err(format!("unknown argument {name}").into()),
        }
    }
    if let Some(folder) = folder {
        let kind = match device {
            Device::Cuda(_) => DeviceKind::Cuda,
            _ => DeviceKind::Cpu,
        };
        return emit(kind, folder, elements);
    }
    let context = MetalContext::new(device, &[])?;
    let mut many = MetalBackend::on(&context, kernels, Effort::Usual)?;
    let mut interpreter = CpuBackend::new();
    allocate(&mut many, elements)?;
    allocate(&mut interpreter, elements)?;
    let (params, programs) = (params(elements), programs()?);
    let list: Vec<_> = programs.iter().map(|program| (program, &params)).collect();
    many.prepare(&list)?;
    println!(
        "{elements} elements on {}; interpreter, one lane, many lanes:",
        context.info().name
    );
    for ((name, _, _), pair) in LOOPS.iter().zip(programs.chunks(2)) {
        let reference = best(&mut interpreter, &pair[1], &params, 3)?;
        let one = best(&mut many, &pair[0], &params, 3)?;
        let before = many.stats().rerolled;
        let time = best(&mut many, &pair[1], &params, 20)?;
        assert_eq!(
            many.stats().rerolled - before,
            21,
            "{name} ran with one lane"
        );
        println!("{name}: {reference:?}, {one:?}, {time:?}");
    }
    Ok(())
}
