//! Speed of the interpreter: overhead of a launch, nanoseconds per lane and instruction.
//!
//! `cargo run --release -p hologram-backends --example interpreter`

use std::time::{Duration, Instant};

use hologram_backends::cpu::CpuBackend;
use hologram_backends::{
    Backend, BufferHandle, ExecutionParams, LaunchConfig, Program, Register, Result,
};

/// r1 to r3 buffers, r4 their length in elements of 4 bytes.
const ADD: &str = "
    set.geu.u64 p0, r255, r4
    bra @end, p0
    mov_imm.u64 r5, 4
    mul.u64 r6, r255, r5
    ldg.f32 r10, [r1 + r6]
    ldg.f32 r11, [r2 + r6]
    add.f32 r12, r10, r11
    stg.f32 r12, [r3 + r6]
@end:
    exit";

/// 1000 rounds of arithmetic without memory.
const ARITHMETIC: &str = "
    mov_imm.f32 r1, f32(0.5)
    mov_imm.f32 r2, f32(1.25)
    mov_imm.u32 r3, 999
@round:
    mul.f32 r4, r1, r2
    add.f32 r1, r4, r2
    sub.f32 r1, r1, r4
    min.f32 r1, r1, r2
    loop r3, @round";

/// Collatz steps of each lane's number: lanes part at every step.
const DIVERGENT: &str = "
    mov_imm.u64 r1, 1
    mov_imm.u64 r2, 3
    mov_imm.u32 r9, 1
    add.u64 r4, r255, r1
@next:
    set.eq.u64 p0, r4, r1
    bra @end, p0
    and.u64 r5, r4, r1
    set.eq.u64 p1, r5, r1
    bra @odd, p1
    shr.u64 r4, r4, r9
    bra @next
@odd:
    mul.u64 r4, r4, r2
    add.u64 r4, r4, r1
    bra @next
@end:
    exit";

/// The shortest of several runs.
fn best(runs: u32, mut run: impl FnMut() -> Result<()>) -> Result<Duration> {
    let mut least = Duration::MAX;
    for _ in 0..runs {
        let start = Instant::now();
        run()?;
        least = least.min(start.elapsed());
    }
    Ok(least)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut backend = CpuBackend::new();
    let exit: Program = "exit".parse()?;
    let one = ExecutionParams::from(LaunchConfig::linear(1, 1));
    let time = best(10_000, || backend.execute_program_with_params(&exit, &one))?;
    println!("launch of one lane, one instruction: {time:?}");

    let add: Program = ADD.parse()?;
    for n in [1usize << 10, 10_000, 1 << 20, 1 << 24] {
        let buffers: Vec<BufferHandle> = (0..3)
            .map(|_| backend.allocate_buffer(4 * n))
            .collect::<Result<_>>()?;
        let mut params = ExecutionParams::from(LaunchConfig::linear(n as u64, 256))
            .with_u64(Register::new(4), n as u64);
        for (register, buffer) in (1..).zip(&buffers) {
            params = params.with_u64(Register::new(register), buffer.raw());
        }
        let time = best(20, || backend.execute_program_with_params(&add, &params))?;
        let each = time.as_secs_f64() * 1e9 / n as f64;
        println!("add of {n} elements: {time:?}, {each:.2} ns an element (9 instructions)");
        for buffer in buffers {
            backend.free_buffer(buffer)?;
        }
    }

    let arithmetic: Program = ARITHMETIC.parse()?;
    for lanes in [1u64, 8, 64, 256, 65_536] {
        let params = ExecutionParams::from(LaunchConfig::linear(lanes, lanes.min(256) as u32));
        let time = best(5, || {
            backend.execute_program_with_params(&arithmetic, &params)
        })?;
        let steps = 5000.0 * lanes as f64;
        let each = time.as_secs_f64() * 1e9 / steps;
        println!("arithmetic of {lanes} lanes: {each:.3} ns per lane and instruction");
    }

    let divergent: Program = DIVERGENT.parse()?;
    let params = ExecutionParams::from(LaunchConfig::linear(65_536, 256));
    let time = best(3, || {
        backend.execute_program_with_params(&divergent, &params)
    })?;
    println!("65,536 lanes that part at every step: {time:?}");

    let time = best(1, || {
        for i in 0..1_000_000 {
            let buffer = backend.allocate_buffer(i % 4096)?;
            backend.free_buffer(buffer)?;
        }
        Ok(())
    })?;
    println!("1,000,000 allocations and frees: {time:?}");
    Ok(())
}
