//! Launches of kernels.

use std::ptr::NonNull;

use objc2_metal::{MTLComputeCommandEncoder, MTLSize};

use super::buffer;
use super::pipeline::{Prepared, SIMD_WIDTH};
use super::queue::Commands;
use crate::driver::{Dispatch, DriverResult, Fault};
use crate::error::MetalError;
use crate::grid::Shape;
use crate::kernel::{ArgKind, KernelSpec, MAX_THREADGROUP_ARGS, SLICE_BUFFER};

/// The least length of a threadgroup argument.
const THREADGROUP_GRANULE: u32 = 16;

/// A launch of a pipeline that can have `limit` threads in a threadgroup.
pub(super) fn fitted(
    kernel: &'static KernelSpec,
    mut shape: Shape,
    limit: u32,
) -> DriverResult<Shape> {
    let requested = shape
        .threads_per_group
        .iter()
        .map(|&t| u64::from(t))
        .product();
    if requested > u64::from(limit) {
        // A kernel with many registers has fewer threads than its caller knows of. Grids by threads are
        // cut at will if no thread meets another.
        let free = shape.by_threads && kernel.any_threadgroup_size;
        if !free || limit < SIMD_WIDTH {
            return Err(Fault::Error(MetalError::TooManyThreads {
                kernel: kernel.name,
                requested,
                limit,
            }));
        }
        let per_group = limit / SIMD_WIDTH * SIMD_WIDTH;
        shape.threads_per_group = [per_group, 1, 1];
        shape.groups = [shape.threads[0].div_ceil(per_group), 1, 1];
    }
    Ok(shape)
}

/// Bytes of threadgroup memory, if the device has as many as `most`.
pub(super) fn threadgroup_memory(
    most: u32,
    dispatch: &Dispatch,
    kernel: &Prepared,
) -> DriverResult<[u32; MAX_THREADGROUP_ARGS]> {
    let mut threadgroup = *dispatch.threadgroup_bytes;
    for arg in dispatch.kernel.args {
        if matches!(arg.kind, ArgKind::Threadgroup { .. }) {
            // An argument without memory is refused.
            let bytes = &mut threadgroup[arg.index as usize];
            *bytes = (*bytes).max(THREADGROUP_GRANULE);
        }
    }
    let requested = threadgroup.iter().map(|&b| u64::from(b)).sum::<u64>()
        + u64::from(kernel.threadgroup_bytes);
    if requested > u64::from(most) {
        return Err(Fault::Error(MetalError::ThreadgroupMemory {
            kernel: dispatch.kernel.name,
            requested,
            limit: most,
        }));
    }
    Ok(threadgroup)
}

/// Encodes a launch.
pub(super) fn launch(
    commands: &mut Commands,
    dispatch: &Dispatch,
    kernel: &Prepared,
    threadgroup: &[u32; MAX_THREADGROUP_ARGS],
) -> DriverResult {
    commands.compute(threadgroup, dispatch.accesses())?;
    let encoder = commands.reach(dispatch.reached)?;
    encoder.setComputePipelineState(&kernel.pipeline);
    for (index, span) in dispatch.buffers.iter().enumerate() {
        let Some(span) = span else { continue };
        let (buffer, offset) = (buffer(span), span.offset as usize);
        // SAFETY: the span lies in the buffer, and the index below 31.
        unsafe { encoder.setBuffer_offset_atIndex(Some(buffer), offset, index) };
    }
    for (index, value) in dispatch.values.iter().enumerate() {
        let Some(bytes) = value else { continue };
        let Some(data) = NonNull::new(bytes.as_ptr().cast_mut().cast()) else {
            continue;
        };
        // SAFETY: `data` points to `bytes.len()` readable bytes, which Metal copies now.
        unsafe { encoder.setBytes_length_atIndex(data, bytes.len(), index) };
    }
    let (shape, slice) = (&dispatch.shape, &dispatch.slice);
    if dispatch.kernel.slices {
        let words = slice.words(shape);
        let data = NonNull::from(&words).cast();
        // SAFETY: `data` points to the words, which Metal copies now.
        unsafe { encoder.setBytes_length_atIndex(data, size_of_val(&words), SLICE_BUFFER) };
    }
    let per_group = size(shape.threads_per_group);
    if shape.by_threads {
        let threads = size(slice.threads(shape));
        encoder.dispatchThreads_threadsPerThreadgroup(threads, per_group);
    } else {
        let groups = size(slice.groups);
        encoder.dispatchThreadgroups_threadsPerThreadgroup(groups, per_group);
    }
    Ok(())
}

fn size(extent: [u32; 3]) -> MTLSize {
    let [width, height, depth] = extent.map(|n| n as usize);
    MTLSize {
        width,
        height,
        depth,
    }
}
