//! Checks that keep memory apart: each of these tests fails when the check that it is about is taken out.

mod support;

use std::cmp::Ordering;
use std::panic::{catch_unwind, AssertUnwindSafe};

use openvm_metal_common::clause::Amount;
use openvm_metal_common::kernel::{ArgKind, CpuLaunch, KernelSpec};
use openvm_metal_common::{
    Device, Grid, MemCopyD2D, MemCopyD2H, MemCopyH2D, MetalBuffer, MetalContext, MetalError, Signal,
};
use support::{add_native, arg, context, entry, AddParams, KERNEL, KERNELS};

const N: usize = 64;

/// Two contexts on the CPU, whose memory the processor reaches alike: only checks keep them apart.
fn two_contexts() -> (MetalContext, MetalContext) {
    (context(Device::Cpu), context(Device::Cpu))
}

#[track_caller]
fn refused<T>(result: Result<T, MetalError>, part: &str) {
    match result.err() {
        Some(MetalError::WrongContext { what }) => assert!(what.contains(part), "{what}"),
        Some(other) => panic!("{other}"),
        None => panic!("{part}: accepted"),
    }
}

#[test]
fn memory_of_another_context_is_neither_copied_nor_shown() {
    let (ours, others) = two_contexts();
    let (s, other) = (ours.stream(), others.stream());
    let mut own = MetalBuffer::from_host(&s, &[1u32; N]).unwrap();
    let mut foreign = MetalBuffer::from_host(&other, &[2u32; N]).unwrap();
    let mut host = [0u32; N];

    refused([3u32; N].copy_to(&mut foreign, &s), "copy to the device");
    refused(foreign.copy_to_host(&mut host, &s), "copy to the host");
    refused(foreign.to_host(&s), "copy to the host");
    refused(foreign.copy_to(&mut own, &s), "copy within the device");
    refused(own.copy_to(&mut foreign, &s), "copy within the device");
    refused(foreign.copy_to(&mut own, &other), "copy within the device");
    refused(
        s.read_many(&[own.as_slice(), foreign.as_slice()]),
        "read of several slices",
    );
    refused(foreign.fill_zero(&s), "fill");
    refused(foreign.slice_mut(1..2).fill_zero(&s), "fill");
    refused(foreign.poison(&s), "fill");

    assert_eq!(host, [0; N]);
    assert_eq!(own.to_host(&s).unwrap(), [1; N]);
    assert_eq!(foreign.to_host(&other).unwrap(), [2; N]);
}

#[test]
fn memory_of_another_context_is_not_bound() {
    let (ours, others) = two_contexts();
    let (s, other) = (ours.stream(), others.stream());
    let own = MetalBuffer::from_host(&s, &[1u32; N]).unwrap();
    let foreign = MetalBuffer::from_host(&other, &[2u32; N]).unwrap();
    let (lent, p) = (&own, AddParams { k: 1, n: N as u32 });
    let call = || {
        let call = s.encode(&KERNELS[0], Grid::threads(N)).value(2, &p);
        call.buffer(0, &lent)
    };
    let mut out = MetalBuffer::<u32>::zeroed(&s, N).unwrap();
    let reached = foreign.as_slice().cast().unwrap();
    refused(
        call()
            .buffer_mut(1, &mut &mut out)
            .reaches(reached)
            .dispatch(),
        "add",
    );
    refused(call().buffer_range(1, reached).dispatch(), "add");
    let signal = Signal::new(&others).unwrap();
    refused(
        call()
            .buffer_mut(1, &mut &mut out)
            .signal(0, &signal)
            .dispatch(),
        "add",
    );
    assert_eq!(out.to_host(&s).unwrap(), [0; N]);
    assert_eq!(foreign.to_host(&other).unwrap(), [2; N]);
    let reached = own.as_slice().cast().unwrap();
    call()
        .buffer_mut(1, &mut &mut out)
        .reaches(reached)
        .dispatch()
        .unwrap();
    assert_eq!(out.to_host(&s).unwrap(), [2; N]);
}

#[test]
fn copies_are_as_long_as_what_they_fill() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let data = MetalBuffer::from_host(&s, &[1u32; N]).unwrap();
    let mut short = MetalBuffer::<u32>::zeroed(&s, N - 1).unwrap();
    let mut long = MetalBuffer::<u32>::zeroed(&s, N + 1).unwrap();
    for result in [
        data.copy_to(&mut short, &s),
        data.copy_to(&mut long, &s),
        data.copy_to_host(&mut [0; N - 1], &s),
        data.copy_to_host(&mut [0; N + 1], &s),
        [1u32; N].copy_to(&mut short, &s),
    ] {
        let error = result.unwrap_err();
        assert!(
            matches!(error, MetalError::LengthMismatch { .. }),
            "{error}"
        );
    }
}

#[test]
fn parts_of_a_buffer_lie_inside_it() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let mut data = MetalBuffer::<u32>::zeroed(&s, N).unwrap();
    // A range that begins behind its end, as one calculates it.
    let (start, end) = (3, 2);
    for result in [
        data.try_slice(start..end).map(|part| part.len()),
        data.try_slice(..N + 1).map(|part| part.len()),
        data.try_slice(N + 1..).map(|part| part.len()),
        data.try_slice(..=usize::MAX).map(|part| part.len()),
        data.try_slice_mut(1..N + 1).map(|part| part.len()),
    ] {
        let error = result.unwrap_err();
        assert!(
            matches!(error, MetalError::RangeOutOfBounds { len: N, .. }),
            "{error}"
        );
    }
    let panic_of = |work: &mut dyn FnMut()| {
        let payload = catch_unwind(AssertUnwindSafe(work)).expect_err("it panics");
        payload.downcast_ref::<String>().expect("a text").clone()
    };
    // By its own check, with the sizes: a build without checks of overflow has no other.
    let text = panic_of(&mut || {
        data.split_off(N + 1);
    });
    assert!(text.starts_with("split at "), "{text}");
    let text = panic_of(&mut || {
        let _ = data.split_at_mut(N + 1);
    });
    assert!(text.contains(&N.to_string()), "{text}");
    assert_eq!((data.split_off(N).len(), data.len()), (0, N));
}

#[test]
fn bytes_become_other_elements_where_they_fit() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let bytes = MetalBuffer::<u8>::zeroed(&s, 10).unwrap();
    // No whole number of words; words at an odd byte; words at a byte that is no multiple of 8.
    let misaligned = |result: Result<usize, MetalError>| {
        let error = result.unwrap_err();
        assert!(matches!(error, MetalError::Misaligned { .. }), "{error}");
    };
    let words = |range| {
        let slice = bytes.try_slice(range).unwrap();
        slice.cast::<u32>().map(|slice| slice.len())
    };
    misaligned(words(0..6));
    misaligned(words(1..5));
    assert_eq!(words(4..8).unwrap(), 1);
    let pair = bytes.slice(..8).cast::<[u32; 2]>();
    assert_eq!(pair.unwrap().len(), 1);
    misaligned(bytes.cast::<u32>().map(|buffer| buffer.len()));
}

#[test]
fn a_call_has_the_arguments_of_its_kernel() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let data = MetalBuffer::<u32>::zeroed(&s, N).unwrap();
    let bytes = MetalBuffer::<u8>::zeroed(&s, 4 * N).unwrap();
    let p = AddParams { k: 1, n: 8 };
    let whole = || data.as_slice().cast().unwrap();
    let call = || s.encode(&KERNELS[0], Grid::threads(8)).value(2, &p);
    let mismatch = |result: Result<(), MetalError>, of: &str, part: &str| {
        let error = result.unwrap_err();
        let MetalError::ArgumentMismatch {
            argument, actual, ..
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!(*argument, of, "{error}");
        assert!(actual.contains(part), "{error}");
    };
    // Nothing bound; bytes bound at an offset where no word begins.
    mismatch(call().buffer_range(0, whole()).dispatch(), "out", "nothing");
    let off = bytes.slice(2..42);
    mismatch(
        call()
            .buffer_range(0, off)
            .buffer_range(1, whole())
            .dispatch(),
        "in",
        "byte offset",
    );
    // Indices that no kernel has.
    mismatch(call().value(200, &p).dispatch(), "?", "index 200");
    mismatch(call().value_bytes(201, &[0]).dispatch(), "?", "index 201");
    mismatch(call().buffer_range(202, whole()).dispatch(), "?", "202");
    mismatch(call().threadgroup(203, 1).dispatch(), "?", "index 203");
    mismatch(call().given(1000, 1).dispatch(), "?", "index 255");
    let signal = Signal::new(&ctx).unwrap();
    mismatch(call().signal(204, &signal).dispatch(), "?", "index 204");
    // Threadgroup memory without a length.
    let mode = 0u32;
    let reverse = s.encode(&KERNELS[1], Grid::groups(1, 8)).value(1, &mode);
    mismatch(
        reverse.buffer_range(0, whole()).dispatch(),
        "scratch",
        "nothing",
    );
    assert_eq!(s.counters().total().dispatches, 0);
}

/// The kernel `add` with a value larger than `setBytes` takes, and without clauses that bound what it touches.
static UNCHECKED: KernelSpec = KernelSpec {
    args: &[
        arg("in", 0, ArgKind::BufferRead { elem: 4 }),
        arg("out", 1, ArgKind::BufferWrite { elem: 4 }),
        arg("p", 2, ArgKind::Value { size: 4100 }),
    ],
    cpu: &[entry(add_native)],
    clauses: None,
    safe: false,
    ..KERNEL
};

#[test]
fn kernels_without_bounds_and_large_values_are_refused() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let data = MetalBuffer::<u32>::zeroed(&s, N).unwrap();
    let whole = || data.as_slice().cast().unwrap();
    let value = [0u8; 4100];
    let call = || {
        s.encode(&UNCHECKED, Grid::threads(8))
            .buffer_range(0, whole())
            .buffer_range(1, whole())
            .value_bytes(2, &value)
    };
    let error = call().dispatch().unwrap_err();
    assert!(
        matches!(error, MetalError::UncheckedKernel { .. }),
        "{error}"
    );
    // SAFETY: the value is zeros, so that the kernel writes no element.
    let error = unsafe { call().dispatch_unchecked() }.unwrap_err();
    assert!(error.to_string().contains("4096"), "{error}");
}

unsafe extern "C" fn nothing(_: *const CpuLaunch, _: *mut u8, _: u64, _: u64) {}

/// A kernel that requires more than 7 threads.
static REQUIRING: KernelSpec = KernelSpec {
    args: &[arg("data", 0, ArgKind::BufferRead { elem: 4 })],
    cpu: &[entry(nothing)],
    clauses: Some(|c| {
        let (threads, seven) = (c.threads(None), Amount::of(7));
        c.length(0, threads);
        c.require("threads > 7", &[(threads, Ordering::is_gt, seven)]);
    }),
    safe: true,
    ..KERNEL
};

#[test]
fn what_a_kernel_requires_is_checked() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let data = MetalBuffer::<u32>::zeroed(&s, N).unwrap();
    let lent = &data;
    let call = s.encode(&REQUIRING, Grid::threads(7)).buffer(0, &lent);
    let error = call.dispatch().unwrap_err();
    assert!(
        matches!(
            error,
            MetalError::UnmetRequirement {
                requirement: "threads > 7",
                left: 7,
                right: 7,
                ..
            }
        ),
        "{error}"
    );
    assert_eq!(s.counters().total().dispatches, 0);
}

#[test]
fn requests_that_no_device_can_serve_are_refused() {
    let ctx = context(Device::Cpu);
    let error = MetalBuffer::<u64>::uninit(&ctx, usize::MAX).unwrap_err();
    assert!(matches!(error, MetalError::OutOfMemory { .. }), "{error}");
    // Rounding to the next size would leave 64 bits.
    let error = MetalBuffer::<u8>::uninit(&ctx, usize::MAX).unwrap_err();
    assert!(matches!(error, MetalError::OutOfMemory { .. }), "{error}");
    let small = MetalContext::with_budget(Device::Cpu, &[], Some(1 << 20)).unwrap();
    let error = MetalBuffer::<u8>::uninit(&small, (1 << 20) + 1).unwrap_err();
    let MetalError::OutOfMemory { budget, .. } = error else {
        panic!("{error}");
    };
    assert_eq!(budget, 1 << 20);
}

#[test]
fn grids_without_threads_or_with_too_many_are_refused() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let a = MetalBuffer::<u32>::zeroed(&s, N).unwrap();
    let mut b = MetalBuffer::<u32>::zeroed(&s, N).unwrap();
    let mut add = |grid| support::add(&s, grid, &a, &mut b, 1, 1).unwrap_err();
    for grid in [
        Grid::threads(0),
        Grid::threads_per_group(8, 0),
        Grid::groups(0, 8),
        Grid::groups(1, 0),
        Grid::groups([1, 0], 8),
    ] {
        let error = add(grid);
        assert!(matches!(error, MetalError::EmptyGrid { .. }), "{error}");
    }
    // Three axes of threads, each within the limit.
    let error = add(Grid::groups(1, [64, 64]));
    assert!(
        matches!(
            error,
            MetalError::TooManyThreads {
                requested: 4096,
                limit: 512,
                ..
            }
        ),
        "{error}"
    );
}
