//! Many threads, many executors.

use std::thread;

use hologram_backends::metal::MetalBackend;
use hologram_backends::{ExecutionParams, Program, Register};
use hologram_core::{ops, BackendType, Executor, Fallback};
use openvm_metal_common::Device;

#[test]
fn sixteen_threads_share_an_executor() {
    let exec = Executor::new().unwrap();
    thread::scope(|scope| {
        for t in 0..16u32 {
            let exec = exec.clone();
            scope.spawn(move || {
                for round in 0..60u32 {
                    let n = 1 + ((t * 60 + round) * 37 % 3000) as usize;
                    let data: Vec<u32> = (0..n as u32).map(|i| i.wrapping_mul(t + 1)).collect();
                    let a = exec.from_slice(&data).unwrap();
                    let b = exec.allocate(n).unwrap();
                    ops::memory::fill(&exec, &b, round).unwrap();
                    ops::math::vector_add(&exec, &a, &b, &b, n).unwrap();
                    let expected: Vec<u32> = data.iter().map(|x| x.wrapping_add(round)).collect();
                    assert_eq!(b.to_vec().unwrap(), expected);
                }
            });
        }
    });
    let stats = exec.stats();
    assert_eq!(stats.operations, 2 * 16 * 60);
    assert_eq!(stats.allocations, 2 * 16 * 60);
    assert_eq!((stats.live_buffers, stats.live_bytes), (0, 0));
}

#[test]
fn a_thousand_executors() {
    let all: Vec<Executor> = (0..1000).map(|_| Executor::new().unwrap()).collect();
    let buffers: Vec<_> = all
        .iter()
        .enumerate()
        .map(|(i, exec)| exec.from_slice(&[i as f32, 1.0]).unwrap())
        .collect();
    for (exec, buffer) in all.iter().zip(&buffers) {
        ops::math::vector_add(exec, buffer, buffer, buffer, 2).unwrap();
    }
    drop(all);
    for (i, buffer) in buffers.iter().enumerate() {
        assert_eq!(buffer.to_vec().unwrap(), [2.0 * i as f32, 2.0]);
    }
}

#[test]
fn threads_fall_back_in_the_order_of_their_calls() {
    let folder = std::env::temp_dir().join("hologram-core-fallback-test");
    let backend = MetalBackend::with_scratch(Device::Cpu, folder).unwrap();
    let exec = Executor::from_backend(Box::new(backend), BackendType::Cuda, "kernels".into());
    // x = x + 1, through a pool.
    let program: Program = "pool_alloc r9, 8\nmov_imm.u64 r2, 0\nldg.u32 r3, [r1 + 0]\npool_store.u32 r3, r9, r2\n\
        pool_load.u32 r4, r9, r2\nmov_imm.u32 r5, 1\nadd.u32 r4, r4, r5\nstg.u32 r4, [r1 + 0]\npool_free r9"
        .parse()
        .unwrap();
    let sum = exec.from_slice(&[0u32]).unwrap();
    let params = ExecutionParams::default().with_u64(Register::new(1), sum.handle().raw());
    let refused = exec.submit(&program, &params).unwrap_err().to_string();
    assert!(refused.contains("when-unsupported"), "{refused}");
    exec.set_fallback(Fallback::WhenUnsupported);
    thread::scope(|scope| {
        for _ in 0..8 {
            let (exec, program, params) = (exec.clone(), &program, &params);
            scope.spawn(move || {
                for _ in 0..25 {
                    let own = exec.from_slice(&[1u32, 2, 3]).unwrap();
                    ops::math::vector_add(&exec, &own, &own, &own, 3).unwrap();
                    exec.submit(program, params).unwrap();
                    assert_eq!(own.to_vec().unwrap(), [2, 4, 6]);
                }
            });
        }
    });
    assert_eq!(sum.to_vec().unwrap(), [200]);
    let stats = exec.backend_stats();
    assert!(stats.contains(&("interpreted", 200)), "{stats:?}");
    assert!(stats.contains(&("intrinsics", 200)), "{stats:?}");
}
