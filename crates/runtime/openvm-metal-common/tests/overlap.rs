//! Arguments of a launch that share memory: Apple's compiler assumes that they are apart, so that no device takes them.

mod support;

use openvm_metal_common::clause::{Amount, Clauses, Per};
use openvm_metal_common::kernel::{ArgKind, CpuLaunch, KernelSpec};
use openvm_metal_common::{Device, Grid, MetalBuffer, MetalError};
use support::{arg, context, entry, AddParams, KERNELS};

/// The kernel `add`, which may work in place.
static IN_PLACE: KernelSpec = KernelSpec {
    args: &[
        arg("in", 0, ArgKind::BufferRead { elem: 4 }),
        arg("out", 1, ArgKind::BufferWrite { elem: 4 }),
        arg("p", 2, ArgKind::Value { size: 8 }),
    ],
    clauses: Some(in_place),
    ..KERNELS[0]
};

fn in_place(c: &mut Clauses<'_>) {
    let n = c.field(2, std::mem::offset_of!(AddParams, n), |p: &AddParams| p.n);
    c.length(0, n);
    c.length(1, n);
    c.in_place(&[0, 1, 200]);
    c.cost(Amount::of(0), Amount::of(8), Per::Thread);
}

#[test]
fn what_is_written_lies_apart_or_is_the_same_range_where_the_kernel_says_so() {
    for device in [Device::Cpu, Device::CpuConformance] {
        let ctx = context(device);
        let s = ctx.stream();
        let buffer = MetalBuffer::from_host(&s, &(0..64u32).collect::<Vec<_>>()).unwrap();
        let bytes = buffer.as_slice().cast::<u8>().unwrap();
        let p = AddParams { k: 1, n: 8 };
        let call = |kernel: &'static KernelSpec, from: usize, to: usize, len: usize| {
            s.encode(kernel, Grid::threads(8))
                .buffer_range(0, bytes.slice(from..from + 32))
                .buffer_range(1, bytes.slice(to..to + len))
                .value(2, &p)
                .dispatch()
        };
        let refused = |kernel, from, to, len, shared: u64| {
            let error = call(kernel, from, to, len).unwrap_err();
            let MetalError::OverlappingArguments {
                kernel: "add",
                written: "out",
                other: "in",
                bytes,
            } = error
            else {
                panic!("{error}");
            };
            assert_eq!(bytes, shared);
        };
        // An element at either end, one inside of the other, and the same range.
        for kernel in [&KERNELS[0], &IN_PLACE] {
            refused(kernel, 0, 28, 32, 4);
            refused(kernel, 28, 0, 32, 4);
            refused(kernel, 32, 0, 128, 32);
            refused(kernel, 0, 0, 36, 32);
        }
        refused(&KERNELS[0], 0, 0, 32, 32);
        assert_eq!(s.counters().total().dispatches, 0);
        // Neighbours, and the same range where the kernel takes it.
        call(&KERNELS[0], 0, 32, 32).unwrap();
        call(&KERNELS[0], 64, 32, 32).unwrap();
        call(&IN_PLACE, 32, 32, 32).unwrap();
        let out = buffer.to_host(&s).unwrap();
        assert_eq!(out[6..10], [6, 7, 18, 19], "{device}");
        assert_eq!(out[15..17], [25, 16], "{device}");
    }
}

unsafe extern "C" fn nothing(_: *const CpuLaunch, _: *mut u8, _: u64, _: u64) {}

/// Ranges that are only read may be the same memory.
#[test]
fn what_is_read_may_overlap() {
    static READS: KernelSpec = KernelSpec {
        args: &[
            arg("a", 0, ArgKind::BufferRead { elem: 4 }),
            arg("b", 1, ArgKind::BufferRead { elem: 4 }),
        ],
        cpu: &[entry(nothing)],
        clauses: None,
        ..KERNELS[0]
    };
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let buffer = MetalBuffer::from_host(&s, &[7u32; 16]).unwrap();
    let bytes = buffer.as_slice().cast::<u8>().unwrap();
    s.encode(&READS, Grid::threads(4))
        .buffer_range(0, bytes.slice(..32))
        .buffer_range(1, bytes.slice(16..48))
        .dispatch()
        .unwrap();
    assert_eq!(s.counters().total().dispatches, 1);
}
