//! Buffers, dispatches, counters and stages on the CPU driver.

mod support;

use openvm_metal_common::{
    Device, DeviceKind, Grid, MemCopyD2D, MemCopyD2H, MemCopyH2D, MetalBuffer, MetalError,
};
use support::{add, add_badly, context, reverse};

#[test]
fn dispatches_of_every_size_cover_their_grid() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    for n in [1usize, 2, 255, 256, 257, 511, 4096, 100_003, 3_000_001] {
        let input: Vec<u32> = (0..n as u32).collect();
        let a = MetalBuffer::from_host(&s, &input).unwrap();
        let mut b = MetalBuffer::zeroed(&s, n).unwrap();
        add(&s, Grid::threads(n), &a, &mut b, 7, n).unwrap();
        let sums = b.to_host(&s).unwrap();
        assert!(sums.iter().zip(7..).all(|(&x, expected)| x == expected));
        add(&s, Grid::threads_per_group(n, 33), &a, &mut b, 9, n).unwrap();
        assert_eq!(b.to_host(&s).unwrap()[n - 1], n as u32 + 8);
    }
}

#[test]
fn counters_follow_stages() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let data: Vec<u32> = (0..1000).collect();
    {
        let _outer = s.stage("prover");
        let a = MetalBuffer::from_host(&s, &data).unwrap();
        {
            let _inner = s.stage("fold");
            let mut b = MetalBuffer::<u32>::uninit(&ctx, 1000).unwrap();
            add(&s, Grid::threads(1000), &a, &mut b, 1, 1000).unwrap();
            add(&s, Grid::threads(1000), &a, b.slice_mut(..), 2, 1000).unwrap();
            s.submit().unwrap();
            s.submit().unwrap();
            assert_eq!(b.to_host(&s).unwrap()[3], 5);
            let mut c = MetalBuffer::zeroed(&s, 500).unwrap();
            b.slice(500..).copy_to(&mut c, &s).unwrap();
            s.wait().unwrap();
        }
        s.count_host_work("tail of the sumcheck", 64);
        s.count_host_work("tail of the sumcheck", 32);
    }
    let counters = s.counters();
    assert_eq!(counters.device, DeviceKind::Cpu);
    let outer = counters.stage("prover").unwrap();
    assert_eq!((outer.dispatches, outer.bytes_h2d), (0, 4000));
    let tail = outer.host_work["tail of the sumcheck"];
    assert_eq!((tail.times, tail.elements, tail.largest), (2, 96, 64));
    assert!(counters.total().host_fallbacks.is_empty());
    s.count_host_fallback("lost device", 5);
    let total = s.counters().total();
    assert_eq!(total.host_fallbacks["lost device"].elements, 5);
    assert_eq!(total.host_work.len(), 1);
    let inner = counters.stage("prover/fold").unwrap();
    assert_eq!(
        (inner.dispatches, inner.submissions, inner.waits),
        (2, 2, 2)
    );
    assert_eq!(
        (inner.bytes_d2h, inner.bytes_d2d, inner.bytes_filled),
        (4000, 2000, 2000)
    );
    assert!(inner.peak_bytes >= 10_000 && inner.device_ns.is_some());
    assert_eq!(counters.inclusive("prover").dispatches, 2);
    assert_eq!(counters.total().peak_bytes, outer.peak_bytes);
    let json: serde_json::Value = serde_json::from_str(&counters.to_json()).unwrap();
    assert_eq!(json["stages"][2]["stage"], "prover/fold");
    assert_eq!(ctx.memory().live, 0);
    s.reset_counters();
    assert_eq!(s.counters().total().dispatches, 0);
}

#[test]
fn bad_calls_are_typed_errors() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let a = MetalBuffer::<u32>::zeroed(&s, 100).unwrap();
    let mut b = MetalBuffer::<u32>::zeroed(&s, 100).unwrap();
    let error = add(&s, Grid::threads(0), &a, &mut b, 1, 100).unwrap_err();
    assert!(
        matches!(error, MetalError::EmptyGrid { kernel: "add" }),
        "{error}"
    );
    let error = add(&s, Grid::threads_per_group(100, 513), &a, &mut b, 1, 100).unwrap_err();
    assert!(
        matches!(
            error,
            MetalError::TooManyThreads {
                requested: 513,
                limit: 512,
                ..
            }
        ),
        "{error}"
    );
    let error = add(&s, Grid::threads(1 << 33), &a, &mut b, 1, 100).unwrap_err();
    assert!(matches!(error, MetalError::GridTooLarge { .. }), "{error}");
    let error = add(&s, Grid::groups([1 << 30, 1], 256), &a, &mut b, 1, 100).unwrap_err();
    assert!(matches!(error, MetalError::GridTooLarge { .. }), "{error}");
    let error = add(&s, Grid::threads(100), &a, &mut b, 1, 101).unwrap_err();
    assert!(
        matches!(
            error,
            MetalError::BufferTooShort {
                argument: "in",
                required: 101,
                actual: 100,
                ..
            }
        ),
        "{error}"
    );
    let error = reverse(&s, Grid::groups(1, 32), &mut b, &0, 8000).unwrap_err();
    assert!(
        matches!(
            error,
            MetalError::ThreadgroupMemory {
                requested: 33024,
                limit: 32768,
                ..
            }
        ),
        "{error}"
    );
    assert!(matches!(
        add_badly(&s, &a, false),
        MetalError::ArgumentMismatch { argument: "p", .. }
    ));
    assert!(matches!(
        add_badly(&s, &a, true),
        MetalError::ArgumentMismatch { argument: "p", .. }
    ));
    let other = context(Device::Cpu);
    let foreign = MetalBuffer::<u32>::uninit(&other, 100).unwrap();
    let error = add(&s, Grid::threads(100), &foreign, &mut b, 1, 100).unwrap_err();
    assert!(matches!(error, MetalError::WrongContext { .. }), "{error}");
    let error = [1u32; 3].copy_to(&mut b, &s).unwrap_err();
    assert!(
        matches!(error, MetalError::LengthMismatch { .. }),
        "{error}"
    );
    let error = b.try_slice(90..101).unwrap_err();
    assert!(
        matches!(
            error,
            MetalError::RangeOutOfBounds {
                start: 90,
                end: 101,
                len: 100
            }
        ),
        "{error}"
    );
    // Nothing of this reached the device.
    assert_eq!(s.counters().total().dispatches, 0);
}

#[test]
fn ranges_casts_and_copies() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let mut a = MetalBuffer::from_host(&s, &[1u32, 2, 3, 4, 5, 6, 7, 8]).unwrap();
    let (left, mut right) = a.split_at_mut(4);
    left.copy_to(&mut right, &s).unwrap();
    assert_eq!(a.to_host(&s).unwrap(), [1, 2, 3, 4, 1, 2, 3, 4]);
    [9u32, 9].copy_to(a.slice_mut(1..3), &s).unwrap();
    let mut host = [0u32; 3];
    a.slice(..3).copy_to_host(&mut host, &s).unwrap();
    assert_eq!(host, [1, 9, 9]);
    let tail = a.split_off(4);
    assert_eq!((a.len(), tail.to_host(&s).unwrap()), (4, vec![1, 2, 3, 4]));
    let pairs = tail.slice(..).cast::<[u32; 2]>().unwrap();
    assert_eq!(pairs.to_host(&s).unwrap(), [[1, 2], [3, 4]]);
    let error = tail.slice(1..).cast::<[u32; 2]>().unwrap_err();
    assert!(matches!(error, MetalError::Misaligned { .. }), "{error}");
    let many = s.read_many(&[a.slice(..1), tail.slice(2..)]).unwrap();
    assert_eq!(many, [vec![1], vec![3, 4]]);
    let empty = MetalBuffer::<u64>::from_host(&s, &[]).unwrap();
    assert!(empty.to_host(&s).unwrap().is_empty());
}

#[test]
fn barriers_simdgroups_and_divergence_on_fibers() {
    let ctx = context(Device::CpuConformance);
    assert!(ctx.info().conformance && ctx.device_profile().simd_width == 32);
    let s = ctx.stream();
    let n = 70usize;
    let input: Vec<u32> = (0..n as u32 * 3).collect();
    let mut a = MetalBuffer::from_host(&s, &input).unwrap();
    reverse(&s, Grid::groups(3, n as u32), &mut a, &0, n as u32).unwrap();
    let expected: Vec<u32> = (0..3 * n)
        .map(|i| (i / n * n + n - 1 - i % n) as u32)
        .collect();
    assert_eq!(a.to_host(&s).unwrap(), expected);
    // A last threadgroup that is cut short.
    let mut b = MetalBuffer::from_host(&s, &input[..100]).unwrap();
    reverse(&s, Grid::threads_per_group(100, 64), &mut b, &0, 64).unwrap();
    assert_eq!(
        b.to_host(&s).unwrap()[64..],
        (64..100).rev().collect::<Vec<u32>>()
    );
    // Sums over 32, 32 and 6 lanes.
    let mut c = MetalBuffer::from_host(&s, &input[..n]).unwrap();
    reverse(&s, Grid::groups(1, n as u32), &mut c, &4, n as u32).unwrap();
    let sums = c.to_host(&s).unwrap();
    assert_eq!((sums[0], sums[69]), ((38..70).sum(), (0..6).sum()));
    // Without a barrier the poison of unwritten threadgroup memory shows.
    reverse(&s, Grid::groups(3, n as u32), &mut a, &1, n as u32).unwrap();
    assert!(a.to_host(&s).unwrap().contains(&0xA5A5_A5A5));
    for mode in [2, 3] {
        let error = reverse(&s, Grid::groups(1, 64), &mut a, &mode, 64).unwrap_err();
        let MetalError::DivergentBarrier {
            kernel,
            threadgroup,
            detail,
        } = error
        else {
            panic!()
        };
        assert_eq!((kernel, threadgroup), ("reverse", [0, 0, 0]));
        assert!(detail.contains("line 12"), "{detail}");
    }
    // The context goes on.
    reverse(&s, Grid::groups(1, 64), &mut a, &0, 64).unwrap();
}

#[test]
fn uninitialised_memory_is_poisoned_in_conformance_mode() {
    let ctx = context(Device::CpuConformance);
    let s = ctx.stream();
    let a = MetalBuffer::<u32>::uninit(&ctx, 1000).unwrap();
    assert!(a.to_host(&s).unwrap().iter().all(|&x| x == 0xA5A5_A5A5));
}

#[test]
fn profile_names_kernels_and_stages() {
    let ctx = context(Device::Cpu);
    ctx.set_profiling(true);
    let s = ctx.stream();
    let _stage = s.stage("outer");
    let a = MetalBuffer::from_host(&s, &vec![1u32; 1 << 20]).unwrap();
    let mut b = MetalBuffer::<u32>::zeroed(&s, 1 << 20).unwrap();
    for _ in 0..3 {
        add(&s, Grid::threads(1 << 20), &a, &mut b, 1, 1 << 20).unwrap();
    }
    let table = ctx.profile().unwrap();
    let row = table.rows.iter().find(|r| r.name == "add").unwrap();
    assert_eq!((&*row.stage, row.calls, row.threads), ("outer", 3, 3 << 20));
    assert_eq!(row.bound_bytes, 3 * (8 << 20));
    assert!(row.total_ns > 0 && row.min_ns <= row.max_ns);
    assert!(table.to_string().contains("add in outer"));
    ctx.reset_profile();
    assert!(ctx.profile().unwrap().rows.is_empty());
    let time = s
        .time(|| add(&s, Grid::threads(1 << 20), &a, &mut b, 1, 1 << 20))
        .unwrap();
    assert!(time.as_nanos() > 0);
}
