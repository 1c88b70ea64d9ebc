//! Many threads, many executors.

use std::thread;

use hologram_core::{ops, Executor};

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
