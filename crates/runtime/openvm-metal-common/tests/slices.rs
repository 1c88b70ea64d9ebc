//! Long dispatches run in slices: same bytes, one dispatch for the counters, errors in the middle.

mod support;

use std::time::Duration;

use openvm_metal_common::{
    Cost, Device, Grid, InjectedFault, KernelArg, KernelArgMut, MetalBuffer, MetalContext,
    MetalError, Signal,
};
use support::{add, context, reverse, AddParams, KERNELS};

const N: usize = 100_003;

/// A copy of [`add`] that states that each thread costs so many products.
fn add_slowly(
    ctx: &MetalContext,
    grid: Grid,
    input: impl KernelArg<u32>,
    mut out: impl KernelArgMut<u32>,
    products: u64,
) -> Result<(), MetalError> {
    let s = ctx.stream();
    s.encode(&KERNELS[0], grid)
        .buffer(0, &input)
        .buffer_mut(1, &mut out)
        .value(2, &AddParams { k: 7, n: N as u32 })
        .cost(Cost::of_threads(N as u64, products, 8))
        .dispatch()
}

#[test]
fn slices_give_the_bytes_of_the_whole() {
    for device in [Device::Cpu, Device::CpuConformance] {
        let ctx = context(device);
        let s = ctx.stream();
        let input: Vec<u32> = (0..N as u32).collect();
        let a = MetalBuffer::from_host(&s, &input).unwrap();
        let mut b = MetalBuffer::zeroed(&s, N).unwrap();
        for per_group in [33, 256, 512] {
            let before = ctx.submissions();
            let grid = Grid::threads_per_group(N, per_group);
            add_slowly(&ctx, grid, &a, &mut b, 1 << 22).unwrap();
            let after = ctx.submissions();
            assert_eq!(after.dispatches_cut, before.dispatches_cut + 1);
            assert!(after.slices - before.slices > 2);
            let out = b.to_host(&s).unwrap();
            assert!(out.iter().enumerate().all(|(i, &x)| x == i as u32 + 7));
            b.fill_zero(&s).unwrap();
        }
        // With barriers, and threadgroups in two directions.
        ctx.set_longest_submission(Duration::from_nanos(1));
        let before = ctx.submissions();
        let mut c = MetalBuffer::from_host(&s, &input[..64 * 30]).unwrap();
        reverse(&s, Grid::groups(30, 64), &mut c, &0, 64).unwrap();
        assert_eq!(ctx.submissions().slices, before.slices + 30);
        let out = c.to_host(&s).unwrap();
        let expected = |i: u32| i / 64 * 64 + 63 - i % 64;
        assert!(out
            .iter()
            .enumerate()
            .all(|(i, &x)| x == expected(i as u32)));
        // Copies and fills in parts.
        let mut big = MetalBuffer::<u32>::uninit(&ctx, 3 << 18).unwrap();
        let submissions = ctx.submissions().submissions;
        big.fill_zero(&s).unwrap();
        assert_eq!(ctx.submissions().submissions, submissions + 3);
        assert!(big.to_host(&s).unwrap().iter().all(|&x| x == 0));
        ctx.set_longest_submission(Duration::ZERO);
        let cut = ctx.submissions().dispatches_cut;
        add_slowly(&ctx, Grid::threads(N), &a, &mut b, 1 << 22).unwrap();
        assert_eq!(ctx.submissions().dispatches_cut, cut);
    }
}

#[test]
fn a_cut_dispatch_is_one_dispatch() {
    let ctx = context(Device::Cpu);
    ctx.set_longest_submission(Duration::from_nanos(1));
    let s = ctx.stream();
    let a = MetalBuffer::from_host(&s, &vec![1u32; 4096]).unwrap();
    let mut b = MetalBuffer::zeroed(&s, 4096).unwrap();
    s.reset_counters();
    let before = ctx.submissions();
    add(&s, Grid::threads(4096), &a, &mut b, 1, 4096).unwrap();
    s.wait().unwrap();
    let total = s.counters().total();
    assert_eq!(
        (total.dispatches, total.submissions, total.waits),
        (1, 1, 1)
    );
    let after = ctx.submissions();
    // Threadgroups of 32 threads, where the caller leaves their size to a processor.
    assert_eq!(
        (
            after.slices - before.slices,
            after.submissions - before.submissions
        ),
        (128, 128)
    );
}

#[test]
fn a_device_that_is_lost_between_slices_ends_the_dispatch() {
    let ctx = context(Device::Cpu);
    ctx.set_longest_submission(Duration::from_nanos(1));
    let s = ctx.stream();
    let a = MetalBuffer::from_host(&s, &vec![1u32; 4096]).unwrap();
    let mut b = MetalBuffer::zeroed(&s, 4096).unwrap();
    ctx.inject_fault(InjectedFault::DeviceLost { dispatches: 9 });
    let error = add(&s, Grid::threads(4096), &a, &mut b, 1, 4096).unwrap_err();
    assert!(matches!(error, MetalError::DeviceLost { .. }), "{error}");
    assert!(error.to_string().contains("add"), "{error}");
    assert_eq!(ctx.submissions().slices, 10);
    assert!(s.wait().unwrap_err().is_fatal());
}

#[test]
fn positions_beyond_2_to_the_32_are_refused_before_the_first_slice() {
    let ctx = context(Device::Cpu);
    ctx.set_longest_submission(Duration::from_nanos(1));
    let s = ctx.stream();
    let a = MetalBuffer::from_host(&s, &[1u32; 16]).unwrap();
    let mut b = MetalBuffer::zeroed(&s, 16).unwrap();
    for grid in [
        Grid::threads((1 << 32) + 1),
        Grid::groups(1 << 24, 256),
        Grid::groups([1, 1 << 24], [1, 256]),
    ] {
        let error = add(&s, grid, &a, &mut b, 1, 16).unwrap_err();
        assert!(matches!(error, MetalError::GridTooLarge { .. }), "{error}");
    }
    assert_eq!(ctx.submissions().slices, 0);
    assert!(b.to_host(&s).unwrap().iter().all(|&x| x == 0));
}

#[test]
fn a_signal_ends_a_dispatch_between_two_slices() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let input: Vec<u32> = (0..N as u32).collect();
    let a = MetalBuffer::from_host(&s, &input).unwrap();
    let mut b = MetalBuffer::zeroed(&s, N).unwrap();
    // A slice for each threadgroup.
    ctx.set_longest_submission(Duration::from_nanos(1));
    let signal = Signal::new(&ctx).unwrap();
    assert_eq!(signal.get(), 0);
    // Of two the first counts.
    assert!(signal.raise(5) && !signal.raise(6));
    assert_eq!(signal.get(), 5);
    let add = |mut b: &mut MetalBuffer<u32>| {
        s.encode(&KERNELS[0], Grid::threads_per_group(N, 16))
            .buffer(0, &&a)
            .buffer_mut(1, &mut b)
            .value(2, &AddParams { k: 7, n: N as u32 })
            .stop(&signal)
            .dispatch()
    };
    let begun = |result: Result<(), MetalError>| match result {
        Err(MetalError::Stopped { begun, threads, .. }) => {
            assert_eq!(threads, N as u64);
            begun as usize
        }
        other => panic!("{other:?}"),
    };
    signal.set(1);
    assert_eq!(begun(add(&mut b)), 0);
    assert!(b.to_host(&s).unwrap().iter().all(|&x| x == 0));
    // From another thread, sooner or later: what was begun is whole.
    signal.set(0);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(1));
            signal.set(3);
        });
        loop {
            match add(&mut b) {
                Ok(()) => b.fill_zero(&s).unwrap(),
                stopped => break begun(stopped),
            }
        }
    });
    let out = b.to_host(&s).unwrap();
    let done = |(i, &x): (usize, &u32)| x == if i < ended { i as u32 + 7 } else { 0 };
    assert!(ended < N && out.iter().enumerate().all(done), "{ended}");
    signal.set(0);
    add(&mut b).unwrap();
    let out = b.to_host(&s).unwrap();
    assert!(out.iter().enumerate().all(|(i, &x)| x == i as u32 + 7));
}
