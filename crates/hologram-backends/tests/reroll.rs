//! Unrolled programs of one lane that run with many.

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::{Effort, MetalBackend};
use hologram_backends::{Backend, BufferHandle, LaunchConfig, Program};
use openvm_metal_common::{Device, MetalContext};

type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

const BYTES: usize = 4096;

fn unrolled(count: usize, group: impl Fn(usize) -> String) -> Outcome<Program> {
    Ok((0..count).map(group).collect::<String>().parse()?)
}

/// Runs a program on three buffers of both backends, which must end alike; whether it was rerolled.
fn rerolled(program: &Program) -> Outcome<bool> {
    let context = MetalContext::new(Device::Cpu, &[])?;
    let scratch = std::env::temp_dir().join("hologram-reroll-test");
    let mut device = MetalBackend::on(&context, scratch, Effort::Least)?;
    let mut reference = CpuBackend::new();
    let mut results = Vec::new();
    for backend in [&mut device as &mut dyn Backend, &mut reference] {
        for seed in 0..3u32 {
            let handle = backend.allocate_buffer(BYTES)?;
            let values = (0..BYTES as u32 / 4).map(|i| (i * 37 + seed * 11) as f32 / 8.0 - 300.0);
            let bytes: Vec<u8> = values.flat_map(f32::to_le_bytes).collect();
            backend.copy_to_buffer(handle, &bytes)?;
        }
        let result = backend.execute_program(program, &LaunchConfig::default());
        let mut memory = vec![0; 3 * BYTES];
        for (i, part) in memory.chunks_mut(BYTES).enumerate() {
            backend.copy_from_buffer(BufferHandle::from_raw(1 + i as u64), part)?;
        }
        results.push((result, memory));
    }
    let faulted = results[0].0.is_err();
    assert_eq!(results[0].0, results[1].0);
    assert!(faulted || results[0].1 == results[1].1, "{program}");
    Ok(device.stats().rerolled == 1)
}

#[test]
fn independent_repetitions_get_a_lane_each() -> Outcome {
    let add = unrolled(500, |i| {
        let at = 4 * i;
        format!("ldg.f32 r0, [buf1 + {at}]\nldg.f32 r1, [buf2 + {at}]\nadd.f32 r2, r0, r1\nstg.f32 r2, [buf3 + {at}]\n")
    })?;
    assert!(rerolled(&add)?);
    // In place, backwards, with a constant, a predicate and an element that all read.
    let clamp = unrolled(100, |i| {
        let at = 2000 - 4 * i;
        format!(
            "ldg.f32 r0, [buf1 + {at}]\nmov_imm.f32 r1, 0\nldg.f32 r5, [buf2 + 8]\nset.lt.f32 p0, r0, r1\n\
             sel.f32 r0, p0, r5, r0\nstg.f32 r0, [buf1 + {at}]\n"
        )
    })?;
    assert!(rerolled(&clamp)?);
    // Two stores that interleave.
    let pairs = unrolled(64, |i| {
        let at = 8 * i;
        format!(
            "ldg.f32 r0, [buf2 + {at}]\nstg.f32 r0, [buf3 + {at}]\nstg.f32 r0, [buf3 + {}]\n",
            at + 4
        )
    })?;
    assert!(rerolled(&pairs)?);
    Ok(())
}

#[test]
fn what_depends_on_order_stays_one_lane() -> Outcome {
    let chain = format!(
        "mov_imm.f32 r1, 0\n{}",
        unrolled(64, |i| format!(
            "ldg.f32 r0, [buf1 + {}]\nadd.f32 r1, r1, r0\nstg.f32 r1, [buf2 + {}]\n",
            4 * i,
            4 * i
        ))?
    );
    assert!(!rerolled(&chain.parse()?)?, "a sum is carried");
    let shift = unrolled(64, |i| {
        format!(
            "ldg.f32 r0, [buf1 + {}]\nstg.f32 r0, [buf1 + {}]\n",
            4 * i,
            4 * i + 4
        )
    })?;
    assert!(!rerolled(&shift)?, "each reads what the one before wrote");
    let same = unrolled(64, |i| {
        format!("ldg.f32 r0, [buf1 + {}]\nstg.f32 r0, [buf2 + 0]\n", 4 * i)
    })?;
    assert!(!rerolled(&same)?, "the last one counts");
    let over = unrolled(64, |i| {
        format!(
            "ldg.f32 r0, [buf1 + {}]\nstg.f32 r0, [buf2 + {}]\n",
            4 * i,
            64 * i + 60
        )
    })?;
    assert!(rerolled(&over)?, "it just fits");
    let past = unrolled(64, |i| {
        format!(
            "ldg.f32 r0, [buf1 + {}]\nstg.f32 r0, [buf2 + {}]\n",
            4 * i,
            64 * i + 64
        )
    })?;
    assert!(!rerolled(&past)?, "it ends with a fault");
    Ok(())
}
