//! Speed of the whole-buffer operations: `bench_intrinsics --device cpu|cuda|metal [--elements N] [--check]`.
//!
//! Elementwise operations are compared with a copy of as many bytes, measured here; products of
//! matrices are given in GFLOP/s. `--check` compares results with those of the host first.

mod check;
mod operations;

use std::error::Error;
use std::time::{Duration, Instant};

use hologram_kernels::device::{self, DeviceSpan, LIBRARY};
use hologram_kernels::host::{self, HostSpan};
use hologram_kernels::{BinaryOp, MapOp, Operation, Ty};
use openvm_metal_common::{CommandStream, Device, MemCopyD2D, MetalBuffer, MetalContext};

use check::check_device;
use operations::{elementwise, products};

type Outcome<T> = Result<T, Box<dyn Error>>;

const F32: Ty = Ty::F32;

fn main() -> Outcome<()> {
    let mut device = "cpu".to_owned();
    let mut elements = 0;
    let mut check = false;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--device" => device = arguments.next().ok_or("--device needs a name")?,
            "--elements" => {
                elements = arguments
                    .next()
                    .ok_or("--elements needs a number")?
                    .parse()?
            }
            "--check" => check = true,
            other => return Err(format!("unknown argument {other}").into()),
        }
    }
    if device == "cpu" {
        let elements = if elements == 0 { 1 << 24 } else { elements };
        bench_host(elements)
    } else {
        let device: Device = device.parse()?;
        let elements = if elements == 0 { 1 << 26 } else { elements };
        let context = MetalContext::new(device, &[&LIBRARY])?;
        println!("{}", context.info());
        let stream = context.stream();
        if check {
            check_device(&stream)?;
        }
        bench_device(&stream, elements)
    }
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64()
}

fn report(name: &str, seconds: f64, bytes: u64, copy: f64) {
    let speed = bytes as f64 / seconds;
    println!(
        "{name:<28} {:>9.3} ms {:>8.1} GB/s {:>5.0}% of copy",
        seconds * 1e3,
        speed / 1e9,
        100.0 * speed / copy
    );
}

fn report_product(operation: &Operation, seconds: f64) {
    if let Operation::Gemm { ty, m, n, k } = *operation {
        let work = 2.0 * f64::from(m) * f64::from(n) * f64::from(k);
        println!(
            "gemm {ty} {m} x {n} x {k}: {:.3} ms, {:.0} GFLOP/s",
            seconds * 1e3,
            work / seconds / 1e9
        );
    }
}

/// Numbers between 0.5 and 1.5.
fn data(count: usize) -> Vec<f32> {
    let mut state = 0x9e37_79b9u32;
    (0..count)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            0.5 + (state >> 8) as f32 / (1 << 24) as f32
        })
        .collect()
}

/// `bytes` bytes of elements of a type, four at a time: halves between 0.5 and 1, else numbers of [`data`].
fn filling(ty: Ty, bytes: usize) -> Vec<f32> {
    let words = data(bytes.div_ceil(4) + 1).into_iter();
    match ty {
        Ty::F16 => words
            .map(|x| f32::from_bits(0x3800_3800 | x.to_bits() & 0x03ff_03ff))
            .collect(),
        Ty::Bf16 => words
            .map(|x| f32::from_bits(0x3f00_3f00 | x.to_bits() & 0x007f_007f))
            .collect(),
        _ => words.collect(),
    }
}

fn bytes_of(operation: &Operation) -> Vec<usize> {
    let (lengths, count) = operation.lengths();
    let size = operation.ty().size();
    lengths[..count]
        .iter()
        .map(|&n| n as usize * size)
        .collect()
}

fn time_device(stream: &CommandStream, operation: &Operation, runs: usize) -> Outcome<f64> {
    let mut buffers = Vec::new();
    for bytes in bytes_of(operation) {
        let host = filling(operation.ty(), bytes);
        let raw: MetalBuffer<f32> = MetalBuffer::from_host(stream, &host)?;
        buffers.push(raw.cast::<u8>()?);
    }
    let spans: Vec<DeviceSpan<'_>> = buffers
        .iter()
        .map(|buffer| DeviceSpan {
            memory: buffer.as_slice(),
            offset: 0,
        })
        .collect();
    let mut times = Vec::new();
    for _ in 0..runs + 2 {
        let mut failed = None;
        let time = stream.time(|| {
            failed = device::run(operation, stream, &spans).err();
            Ok(())
        })?;
        if let Some(error) = failed {
            return Err(error.into());
        }
        times.push(time);
    }
    Ok(median(times.split_off(2)))
}

fn bench_device(stream: &CommandStream, elements: u64) -> Outcome<()> {
    let count = elements as usize;
    let from: MetalBuffer<f32> = MetalBuffer::from_host(stream, &data(count))?;
    let mut to: MetalBuffer<f32> = MetalBuffer::uninit(stream.context(), count)?;
    let mut times = Vec::new();
    for _ in 0..12 {
        times.push(stream.time(|| from.copy_to(&mut to, stream))?);
    }
    drop((from, to));
    let seconds = median(times.split_off(2));
    let copy = 8.0 * elements as f64 / seconds;
    println!(
        "copy of {elements} f32: {:.3} ms, {:.1} GB/s",
        seconds * 1e3,
        copy / 1e9
    );
    for (name, operation, operands) in elementwise(elements) {
        let seconds = time_device(stream, &operation, 10)?;
        report(&name, seconds, operands * elements * 4, copy);
    }
    for operation in products() {
        report_product(&operation, time_device(stream, &operation, 10)?);
    }
    // What a launch costs from call to finish.
    let tiny = Operation::Map {
        op: MapOp::Neg,
        ty: F32,
        count: 16,
    };
    let buffer = MetalBuffer::from_host(stream, &[0u8; 64])?;
    let span = DeviceSpan {
        memory: buffer.as_slice(),
        offset: 0,
    };
    let start = Instant::now();
    for _ in 0..1000 {
        let _ = device::run(&tiny, stream, &[span, span])?;
    }
    let encoded = start.elapsed();
    stream.wait()?;
    println!(
        "1000 small operations: {:.2} us each to encode, {:.2} us each until done",
        encoded.as_secs_f64() * 1e3,
        start.elapsed().as_secs_f64() * 1e3
    );
    Ok(())
}

fn time_host(operation: &Operation, runs: usize) -> Outcome<f64> {
    let mut memory: Vec<Vec<f32>> = bytes_of(operation)
        .into_iter()
        .map(|bytes| filling(operation.ty(), bytes))
        .collect();
    let mut words: Vec<Vec<u64>> = Vec::new();
    for floats in memory.drain(..) {
        let pairs = floats.chunks(2).map(|c| {
            c.iter()
                .rev()
                .fold(0u64, |word, x| word << 32 | u64::from(x.to_bits()))
        });
        words.push(pairs.collect());
    }
    let spans: Vec<HostSpan> = words
        .iter_mut()
        .map(|words| HostSpan {
            ptr: words.as_mut_ptr().cast(),
            len: words.len() * 8,
        })
        .collect();
    let mut times = Vec::new();
    for _ in 0..=runs {
        let start = Instant::now();
        // SAFETY: separate vectors that live.
        unsafe { host::run(operation, &spans) }?;
        times.push(start.elapsed());
    }
    Ok(median(times.split_off(1)))
}

fn bench_host(elements: u64) -> Outcome<()> {
    let from = data(elements as usize);
    let mut to = from.clone();
    let mut times = Vec::new();
    for _ in 0..6 {
        let start = Instant::now();
        std::hint::black_box(&mut to).copy_from_slice(std::hint::black_box(&from));
        times.push(start.elapsed());
    }
    drop((from, to));
    let seconds = median(times.split_off(1));
    let copy = 8.0 * elements as f64 / seconds;
    println!(
        "copy of {elements} f32 by one core: {:.3} ms, {:.1} GB/s",
        seconds * 1e3,
        copy / 1e9
    );
    for (name, operation, operands) in elementwise(elements) {
        report(
            &name,
            time_host(&operation, 5)?,
            operands * elements * 4,
            copy,
        );
    }
    for operation in products() {
        report_product(&operation, time_host(&operation, 3)?);
    }
    let small = Operation::MapBinary {
        op: BinaryOp::Add,
        ty: F32,
        count: 256,
    };
    println!(
        "map2 add of 256 f32: {:.0} ns",
        time_host(&small, 1001)? * 1e9
    );
    Ok(())
}
