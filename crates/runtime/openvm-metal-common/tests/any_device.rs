//! Behaviour that all devices share: runs on the one in `OPENVM_METAL_DEVICE`.

mod support;

use openvm_metal_common::{
    device_checks, Device, Grid, MemCopyD2D, MemCopyH2D, MetalBuffer, MetalContext, MetalError,
};
use support::{add, reverse, LIBRARY};

fn context() -> MetalContext {
    MetalContext::new(Device::from_env().unwrap(), &[&LIBRARY]).unwrap()
}

#[test]
fn what_the_self_test_checks() {
    for device in [Device::from_env().unwrap(), Device::CpuConformance] {
        let ctx = MetalContext::new(device, &[]).unwrap();
        for check in device_checks() {
            for seed in 0..3 {
                if let Err(failure) = check.run(&ctx.stream(), seed) {
                    panic!("{} on {device}, seed {seed}: {failure}", check.name);
                }
            }
        }
        let diagnostics = ctx.diagnostics();
        let memory = diagnostics.iter().find(|d| d.name == "memory").unwrap();
        assert!(memory.value.contains("live at most"), "{}", memory.value);
    }
}

#[test]
fn kernels_and_copies() {
    let ctx = context();
    println!("on {}", ctx.info());
    let s = ctx.stream();
    for n in [1usize, 31, 256, 1000, 70_001, 5_000_003] {
        let input: Vec<u32> = (0..n as u32).collect();
        let mut a = MetalBuffer::from_host(&s, &input).unwrap();
        let mut b = MetalBuffer::zeroed(&s, n).unwrap();
        add(&s, Grid::threads(n), &a, &mut b, 7, n).unwrap();
        add(&s, Grid::threads_per_group(n, 33), &b, &mut a, 5, n).unwrap();
        let expected: Vec<u32> = (0..n as u32).map(|i| i + 12).collect();
        assert_eq!(a.to_host(&s).unwrap(), expected);
        // An upload into memory that work in flight reads.
        add(&s, Grid::threads(n), &a, &mut b, 1, n).unwrap();
        input[..].copy_to(&mut a, &s).unwrap();
        a.slice(n / 2..).copy_to(b.slice_mut(n / 2..), &s).unwrap();
        b.slice_mut(..n / 4).fill_zero(&s).unwrap();
        for (i, &x) in b.to_host(&s).unwrap().iter().enumerate() {
            let expected = if i < n / 4 {
                0
            } else if i < n / 2 {
                i + 13
            } else {
                i
            };
            assert_eq!(x as usize, expected, "element {i} of {n}");
        }
    }
}

#[test]
fn barriers_and_threadgroup_memory() {
    let ctx = context();
    let s = ctx.stream();
    let input: Vec<u32> = (0..64 * 50).collect();
    let mut a = MetalBuffer::from_host(&s, &input).unwrap();
    reverse(&s, Grid::groups(50, 64), &mut a, &0, 64).unwrap();
    let expected: Vec<u32> = (0..64 * 50).map(|i| i / 64 * 64 + 63 - i % 64).collect();
    assert_eq!(a.to_host(&s).unwrap(), expected);
}

#[test]
fn memory_is_reused_in_queue_order() {
    let ctx = context();
    let s = ctx.stream();
    let n = 1 << 20;
    let mut results = Vec::new();
    for round in 0..40u32 {
        // Freed while the kernel that reads it may still run; the next round writes the same memory.
        let a = MetalBuffer::from_host(&s, &vec![round; n]).unwrap();
        let mut b = MetalBuffer::<u32>::uninit(&ctx, n).unwrap();
        add(&s, Grid::threads(n), &a, &mut b, 1, n).unwrap();
        drop(a);
        if round % 3 == 0 {
            s.submit().unwrap();
        }
        if round % 8 == 7 {
            results.push((round, b));
        }
    }
    for (round, b) in &results {
        assert!(
            b.to_host(&s).unwrap().iter().all(|&x| x == round + 1),
            "round {round}"
        );
    }
    let memory = ctx.memory();
    assert_eq!(memory.live, 5 * 4 * n as u64);
    drop(results);
    assert_eq!(ctx.memory().live, 0);
    ctx.trim();
    assert_eq!(ctx.memory().reserved, 0);
}

#[test]
fn time_and_profile() {
    let ctx = context();
    ctx.set_profiling(true);
    let s = ctx.stream();
    let _stage = s.stage("timed");
    let n = 1 << 22;
    let a = MetalBuffer::from_host(&s, &vec![1u32; n]).unwrap();
    let mut b = MetalBuffer::<u32>::zeroed(&s, n).unwrap();
    let time = s
        .time(|| (0..10).try_for_each(|_| add(&s, Grid::threads(n), &a, &mut b, 1, n)))
        .unwrap();
    s.time(|| Ok(())).expect("nothing takes no time");
    let table = ctx.profile().unwrap();
    println!("{table}");
    let row = table.rows.iter().find(|row| row.name == "add").unwrap();
    assert_eq!((row.calls, row.threads), (10, 10 * n as u64));
    assert!(row.total_ns > 0 && time.as_nanos() > 0);
    assert!(s.counters().stage("timed").unwrap().device_ns.unwrap() >= row.total_ns);
}

#[test]
fn allocations_beyond_the_device() {
    let ctx = MetalContext::with_budget(Device::from_env().unwrap(), &[], Some(u64::MAX)).unwrap();
    let error = MetalBuffer::<u8>::uninit(&ctx, 1 << 52).unwrap_err();
    assert!(
        matches!(
            error,
            MetalError::BufferTooLarge { requested, limit } if requested == 1 << 52 && limit < requested
        ),
        "{error}"
    );
    MetalBuffer::<u8>::uninit(&ctx, 1 << 20).unwrap();
}
