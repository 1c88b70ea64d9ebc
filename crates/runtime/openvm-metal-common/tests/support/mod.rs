//! Kernels written by hand as the builder would compile them, so that the run time is tested alone.
#![allow(dead_code, reason = "each test binary uses a part")]

use std::ffi::c_void;

use openvm_metal_common::clause::{Amount, Clauses, Per};
use openvm_metal_common::kernel::{
    ArgKind, ArgSpec, CpuEntry, CpuFn, CpuIsa, CpuLaunch, CpuThread, CpuThreadFn, KernelKind,
    KernelLibrary, KernelSpec, KernelUnit, Prepare, PtxParam,
};
use openvm_metal_common::{
    CommandStream, Device, Grid, KernelArg, KernelArgMut, MetalBuffer, MetalContext, MetalError,
    ThreadgroupLen,
};

/// A context on the CPU with the kernels of this file.
pub fn context(device: Device) -> MetalContext {
    MetalContext::new(device, &[&LIBRARY]).expect("the CPU is always there")
}

/// The summand and the number of elements.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AddParams {
    pub k: u32,
    pub n: u32,
}

/// `out[i] = in[i] + k` for all elements of `in`; see kernels.metal.
pub fn add(
    stream: &CommandStream,
    grid: Grid,
    input: impl KernelArg<u32>,
    mut out: impl KernelArgMut<u32>,
    k: u32,
    n: usize,
) -> Result<(), MetalError> {
    let call = stream.encode(&KERNELS[0], grid).buffer(0, &input);
    call.buffer_mut(1, &mut out)
        .value(2, &AddParams { k, n: n as u32 })
        .dispatch()
}

/// Reverses each threadgroup's elements through threadgroup memory; `mode` 1: no barrier, 2: a
/// divergent barrier, 3: an early return, 4: sum over the simdgroup.
pub fn reverse(
    stream: &CommandStream,
    grid: Grid,
    mut data: impl KernelArgMut<u32>,
    mode: &u32,
    scratch: ThreadgroupLen,
) -> Result<(), MetalError> {
    let call = stream.encode(&KERNELS[1], grid).buffer_mut(0, &mut data);
    call.value(1, mode).threadgroup(0, scratch).dispatch()
}

/// A call with an argument missing and another of the wrong size.
pub fn add_badly(stream: &CommandStream, data: &MetalBuffer<u32>, value: bool) -> MetalError {
    let call = stream
        .encode(&KERNELS[0], Grid::threads(4))
        .buffer(0, &data)
        .buffer_range(1, data.as_slice().cast().expect("words are bytes"));
    let call = if value { call.value(2, &7u32) } else { call };
    call.dispatch().expect_err("a bad call")
}

pub const fn arg(name: &'static str, index: u8, kind: ArgKind) -> ArgSpec {
    ArgSpec { name, index, kind }
}

pub const fn entry(function: CpuFn) -> CpuEntry {
    CpuEntry {
        isa: CpuIsa::Generic,
        run: function,
        scalar: function,
    }
}

/// A flat kernel without arguments and code.
pub const KERNEL: KernelSpec = KernelSpec {
    name: "unchecked",
    ptx_entry: "msl_unchecked",
    unit: "test",
    library: "test",
    args: &[],
    kind: KernelKind::Flat,
    max_threads: 512,
    static_threadgroup_bytes: 0,
    any_threadgroup_size: true,
    cpu: &[],
    fiber: None,
    ptx_params: &[],
    slices: false,
    clauses: None,
    safe: false,
};

pub static KERNELS: [KernelSpec; 2] = [
    KernelSpec {
        name: "add",
        ptx_entry: "msl_add",
        args: &[
            arg("in", 0, ArgKind::BufferRead { elem: 4 }),
            arg("out", 1, ArgKind::BufferWrite { elem: 4 }),
            arg("p", 2, ArgKind::Value { size: 8 }),
        ],
        cpu: &[entry(add_native)],
        ptx_params: &[
            PtxParam::Buffer(0),
            PtxParam::Buffer(1),
            PtxParam::Value {
                index: 2,
                size: 8,
                align: 4,
            },
        ],
        clauses: Some(add_clauses),
        safe: true,
        ..KERNEL
    },
    KernelSpec {
        name: "reverse",
        ptx_entry: "msl_reverse",
        args: &[
            arg("data", 0, ArgKind::BufferWrite { elem: 4 }),
            arg("mode", 1, ArgKind::Value { size: 4 }),
            arg("scratch", 0, ArgKind::Threadgroup { elem: 4 }),
        ],
        kind: KernelKind::Barrier,
        max_threads: 1024,
        static_threadgroup_bytes: 1024,
        any_threadgroup_size: false,
        cpu: &[entry(unused)],
        fiber: Some(reverse_thread as CpuThreadFn),
        ptx_params: &[
            PtxParam::Buffer(0),
            PtxParam::Value {
                index: 1,
                size: 4,
                align: 4,
            },
            PtxParam::Threadgroup(0),
        ],
        clauses: Some(reverse_clauses),
        safe: true,
        ..KERNEL
    },
];

fn add_clauses(c: &mut Clauses<'_>) {
    let n = c.field(2, std::mem::offset_of!(AddParams, n), |p: &AddParams| p.n);
    c.length(0, n);
    c.length(1, n);
    c.cost(Amount::of(0), Amount::of(8), Per::Thread);
}

fn reverse_clauses(c: &mut Clauses<'_>) {
    let (threads, scratch) = (c.threads(None), c.threads_per_group(None));
    c.length(0, threads);
    c.require(
        "threads_per_group <= 1024",
        &[(scratch, std::cmp::Ordering::is_le, Amount::of(1024))],
    );
    c.cost(Amount::of(0), Amount::of(8), Per::Thread);
}

pub static LIBRARY: KernelLibrary = KernelLibrary {
    name: "test",
    units: &[KernelUnit {
        name: "test",
        msl: include_str!("kernels.metal"),
        metallib: None,
        ptx: Some(include_str!("kernels.ptx")),
        kernels: &KERNELS,
        prepared: Prepare::AtStart,
    }],
};

pub unsafe extern "C" fn add_native(launch: *const CpuLaunch, _: *mut u8, begin: u64, end: u64) {
    // SAFETY: called by the driver with the arguments of `add`.
    unsafe {
        let launch = &*launch;
        let (input, out) = (launch.buf[0].cast::<u32>(), launch.buf[1].cast::<u32>());
        let p = *launch.buf[2].cast::<AddParams>();
        let per_group = launch.tpg[0] as u64;
        for i in begin * per_group..(end * per_group).min(p.n as u64) {
            *out.add(i as usize) = (*input.add(i as usize)).wrapping_add(p.k);
        }
    }
}

unsafe extern "C" fn unused(_: *const CpuLaunch, _: *mut u8, _: u64, _: u64) {
    std::process::abort();
}

unsafe extern "C" fn reverse_thread(
    launch: *const CpuLaunch,
    arena: *mut u8,
    thread: *const CpuThread,
) {
    // SAFETY: called by the driver with the arguments of `reverse`, on a fiber.
    unsafe {
        let (launch, thread) = (&*launch, &*thread);
        let hooks = &*thread.hooks;
        let data = launch.buf[0].cast::<u32>();
        let mode = *launch.buf[1].cast::<u32>();
        let scratch = arena.cast::<u32>();
        let (tid, size) = (
            thread.index,
            launch.tpg[0].min(launch.threads[0] - thread.group[0] * launch.tpg[0]),
        );
        let mine = data.add((thread.group[0] * launch.tpg[0] + tid) as usize);
        *scratch.add(tid as usize) = *mine;
        match mode {
            1 => {}
            2 if tid % 2 == 1 => (hooks.barrier)(17),
            3 if tid == 5 => return,
            _ => (hooks.barrier)(12),
        }
        *mine = *scratch.add((size - 1 - tid) as usize);
        if mode == 4 {
            let value = *mine;
            let all = (hooks.simd_exchange)(std::ptr::from_ref(&value).cast::<c_void>(), 4, 20);
            let lanes = (hooks.simd_threads)() as usize;
            assert_eq!((hooks.simd_lane)(), tid % 32);
            *mine = (0..lanes)
                .map(|lane| *all.add(16 * lane).cast::<u32>())
                .sum();
        }
    }
}
