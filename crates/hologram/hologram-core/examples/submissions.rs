//! Memory of a process that submits a million programs to the processor and waits for none.
//!
//! `cargo run --release -p hologram-core --example submissions [number] [lanes]`, on Linux; few lanes are
//! interpreted, many run as a kernel.

use std::time::Instant;

use hologram_backends::{ExecutionParams, LaunchConfig, Program, Register};
use hologram_core::Executor;

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// Adds 1 to the element of each lane: r1 is the buffer, r3 the number of elements.
const ADD: &str = "
    set.ge.u64 p0, r255, r3
    bra @end, p0
    mov_imm.u64 r5, 4
    mul.u64 r6, r255, r5
    ldg.u32 r7, [r1 + r6]
    mov_imm.u32 r8, 1
    add.u32 r7, r7, r8
    stg.u32 r7, [r1 + r6]
@end:
    exit";

/// Resident memory of this process, in KiB.
fn resident() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    Ok(number.ok_or("no VmRSS")?.parse()?)
}

fn main() -> Outcome {
    let all: u64 = std::env::args()
        .nth(1)
        .map_or(Ok(1_000_000), |text| text.parse())?;
    let lanes: u64 = std::env::args()
        .nth(2)
        .map_or(Ok(512), |text| text.parse())?;
    let executor = Executor::new()?;
    let buffer = executor.allocate::<u32>(lanes as usize)?;
    let program: Program = ADD.parse()?;
    let params = ExecutionParams::new(LaunchConfig::linear(lanes, 256))
        .with_u64(Register::new(1), buffer.handle().raw())
        .with_u64(Register::new(3), lanes);
    // Compiled before anything is counted.
    executor.run(&program, &params)?;
    let start = Instant::now();
    println!("submissions,resident KiB,seconds");
    for done in 1..=all {
        executor.submit(&program, &params)?;
        if [all / 10, all / 2, all].contains(&done) {
            let seconds = start.elapsed().as_secs_f64();
            println!("{done},{},{seconds:.1}", resident()?);
        }
    }
    let values = buffer.to_vec()?;
    assert!(values.iter().all(|&value| u64::from(value) == all + 1));
    println!("{:?}", executor.backend_stats());
    Ok(())
}
