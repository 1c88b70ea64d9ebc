//! Chooses the native version of a kernel and runs it over its threadgroups.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::mem::MaybeUninit;

use super::subnormals::Flushing;
use super::{fiber, host};
use crate::device_kind::DeviceKind;
use crate::driver::{kernels, Dispatch};
use crate::error::{MetalError, Result};
use crate::grid::Shape;
use crate::kernel::{CpuEntry, CpuLaunch, KernelSpec, MAX_BUFFERS, MAX_THREADGROUP_ARGS};
use crate::parallel;

/// Threadgroup memory of a kernel at most, under the profile of a device that has so much.
pub(super) const THREADGROUP_MEMORY: u32 = 256 << 10;
/// Threadgroup memory of one thread, each of the arguments rounded up.
const ARENA_BYTES: usize = THREADGROUP_MEMORY as usize + 16 * MAX_THREADGROUP_ARGS;
/// Threads of a flat threadgroup, at most: two of the widest vectors. A thread may take 40 us, and a threadgroup is what threads of the
/// processor share.
const FLAT_THREADS: u32 = 32;
/// Flat threadgroups to start with; some nanoseconds per thread.
const FIRST_FLAT_GROUPS: u64 = 2;
/// Values up to this many bytes in all are kept on the stack.
const INLINE_VALUES: usize = 512;

/// The best version for this processor.
fn entry(kernel: &KernelSpec) -> Option<&CpuEntry> {
    kernel
        .cpu
        .iter()
        .find(|entry| host::is_available(entry.isa))
}

/// Reason why a kernel cannot run here, if so.
pub(crate) fn unusable(kernel: &KernelSpec, conformance: bool) -> Option<&'static str> {
    if kernel.cpu.is_empty() {
        Some("the kernels were built without a C++ compiler")
    } else if entry(kernel).is_none() {
        Some("no native version for the instructions of this processor")
    } else if conformance && kernel.kind.has_barriers() && kernel.fiber.is_none() {
        Some("it has barriers but no fiber version")
    } else {
        None
    }
}

/// The kernel can run here.
pub(crate) fn check(kernel: &KernelSpec, conformance: bool) -> Result<()> {
    match unusable(kernel, conformance) {
        Some(reason) => Err(missing(kernel, reason)),
        None => Ok(()),
    }
}

/// A grid given in threads whose threads never meet, in threadgroups that are small enough to share if nobody said how large they are.
pub(super) fn fitted(kernel: &KernelSpec, mut shape: Shape) -> Shape {
    let free = shape.any_size && kernel.any_threadgroup_size && !kernel.kind.has_barriers();
    if free && shape.threads_per_group[0] > FLAT_THREADS {
        shape.threads_per_group = [FLAT_THREADS, 1, 1];
        shape.groups = [shape.threads[0].div_ceil(FLAT_THREADS), 1, 1];
    }
    shape
}

/// The error for a kernel without the native version it needs.
pub(super) fn missing(kernel: &KernelSpec, reason: &str) -> MetalError {
    kernels::missing(DeviceKind::Cpu, kernel, reason)
}

/// A [`CpuLaunch`] that several threads read.
pub(super) struct SharedLaunch(pub CpuLaunch);
// SAFETY: the struct is only read; what it points to is shared as the kernel's author decides
// (disjoint writes or atomics), as on a GPU.
unsafe impl Sync for SharedLaunch {}

/// Runs a dispatch to its end; with `flush` its subnormal floats become zero.
pub(super) fn run(dispatch: &Dispatch, conformance: bool, flush: bool) -> Result<()> {
    let kernel = dispatch.kernel;
    let Some(entry) = entry(kernel) else {
        return check(kernel, conformance);
    };
    let total: usize = dispatch
        .values
        .iter()
        .flatten()
        .map(|v| v.len().next_multiple_of(16))
        .sum();
    // Values are copied to where 16-byte aligned structs may lie.
    let mut inline = [0u128; INLINE_VALUES / 16];
    let mut heap = Vec::new();
    let values: &mut [u128] = if total <= INLINE_VALUES {
        &mut inline
    } else {
        heap.resize(total / 16, 0);
        &mut heap
    };
    let launch = SharedLaunch(native_launch(dispatch, values));
    let groups = dispatch.slice.numbers(&dispatch.shape);
    let barriers = kernel.kind.has_barriers();
    if barriers && (conformance || dispatch.shape.by_threads || !kernel.any_threadgroup_size) {
        return fiber::run(kernel, &launch, groups, conformance, flush);
    }
    let function = if conformance { entry.scalar } else { entry.run };
    let first = if barriers { 1 } else { FIRST_FLAT_GROUPS };
    let launch = &launch;
    parallel::run(
        groups.end - groups.start,
        first,
        parallel::BETWEEN_DISPATCHES,
        &|begin, end| {
            let (begin, end) = (groups.start + begin, groups.start + end);
            with_arena(|arena, _| {
                let _flushing = Flushing::begin(flush);
                // SAFETY: the launch is live, every argument was checked against the kernel's signature,
                // the buffers are live and borrowed by the caller, and the arena belongs to this thread.
                unsafe { function(&launch.0, arena, begin, end) }
            });
        },
    );
    Ok(())
}

fn native_launch(dispatch: &Dispatch, values: &mut [u128]) -> CpuLaunch {
    let mut buf = [std::ptr::null_mut::<c_void>(); MAX_BUFFERS];
    for (slot, span) in buf.iter_mut().zip(dispatch.buffers) {
        if let Some(span) = span {
            *slot = span.address() as *mut c_void;
        }
    }
    let mut free = values.as_mut_ptr();
    for (slot, value) in buf.iter_mut().zip(dispatch.values) {
        if let Some(value) = value {
            // SAFETY: `values` holds the sum of all lengths, each rounded up to 16 bytes.
            unsafe {
                free.cast::<MaybeUninit<u8>>()
                    .copy_from_nonoverlapping(value.as_ptr(), value.len());
                *slot = free.cast();
                free = free.add(value.len().div_ceil(16));
            }
        }
    }
    CpuLaunch {
        buf,
        tg_len: *dispatch.threadgroup_bytes,
        threads: dispatch.shape.threads,
        tpg: dispatch.shape.threads_per_group,
        ntg: dispatch.shape.groups,
    }
}

#[repr(align(64))]
struct Arena(UnsafeCell<[u8; ARENA_BYTES]>);

thread_local! {
    static ARENA: Box<Arena> = Box::new(Arena(UnsafeCell::new([0; ARENA_BYTES])));
}

/// Lends the threadgroup memory of this thread (address, bytes). Calls must not nest.
pub(super) fn with_arena<R>(work: impl FnOnce(*mut u8, usize) -> R) -> R {
    ARENA.with(|arena| work(arena.0.get().cast(), ARENA_BYTES))
}
