//! Apple GPUs through Metal.
//!
//! Kernels are compiled from the embedded source when the context is made (no Xcode), buffers have shared
//! storage, and everything goes through one command queue in the order of the calls.

mod library;
mod queue;

use std::ptr::NonNull;
use std::sync::Mutex;
use std::time::Duration;

use objc2::rc::{autoreleasepool, Retained};
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSRange;
use objc2_metal::{
    MTLBlitCommandEncoder, MTLBuffer, MTLComputeCommandEncoder, MTLComputePipelineState,
    MTLCreateSystemDefaultDevice, MTLDevice, MTLResourceOptions, MTLSize,
};

use self::library::Pipelines;
use self::queue::Queue;
use super::{Dispatch, Driver, DriverResult, Fault, Mark, OpenOptions, Segment, Span, Tag};
use crate::device::{DeviceInfo, DeviceKind};
use crate::error::{MetalError, Result};
use crate::kernel::{KernelSpec, MAX_THREADGROUP_ARGS};
use crate::lock;

type Device = Retained<ProtocolObject<dyn MTLDevice>>;
type Buffer = ProtocolObject<dyn MTLBuffer>;

/// Threadgroup memory lengths are multiples of this.
const THREADGROUP_GRANULE: usize = 16;

pub(crate) struct MetalDriver {
    info: DeviceInfo,
    pipelines: Pipelines,
    queue: Mutex<Queue>,
    device: Device,
}

impl MetalDriver {
    /// Opens the system's GPU and compiles every kernel for it.
    pub fn open(options: OpenOptions) -> Result<Box<dyn Driver>> {
        autoreleasepool(|_| {
            let device =
                MTLCreateSystemDefaultDevice().ok_or_else(|| MetalError::DeviceUnavailable {
                    device: DeviceKind::Metal,
                    reason: "the system has no Metal device".into(),
                })?;
            let info = device_info(&device, options.budget);
            let pipelines = Pipelines::compile(&device, options.libraries)?;
            let queue = Mutex::new(Queue::new(&device)?);
            Ok(Box::new(Self {
                info,
                pipelines,
                queue,
                device,
            }) as Box<dyn Driver>)
        })
    }

    /// The retained buffer behind a span.
    fn buffer(span: &Span) -> &Buffer {
        // SAFETY: `object` is the pointer of a buffer retained in `allocate`; the caller of the driver
        // guarantees that the segment is live.
        unsafe { &*(span.segment.object as *const Buffer) }
    }
}

fn device_info(device: &Device, budget: Option<u64>) -> DeviceInfo {
    let working_set = device.recommendedMaxWorkingSetSize();
    let most = device.maxThreadsPerThreadgroup();
    DeviceInfo {
        name: device.name().to_string(),
        kind: DeviceKind::Metal,
        detail: format!(
            "Metal {}, kernels compiled at run time",
            library::LANGUAGE_NAME
        ),
        memory: physical_memory().unwrap_or(working_set),
        working_set,
        budget: budget.unwrap_or(working_set),
        max_buffer: device.maxBufferLength() as u64,
        unified: device.hasUnifiedMemory(),
        // Every Apple GPU; a pipeline that differs is refused when it is made.
        simd_width: library::SIMD_WIDTH,
        max_threads_per_threadgroup: most.width as u32,
        max_threadgroup_memory: device.maxThreadgroupMemoryLength() as u32,
        // Metal does not tell the number of cores; reductions size their grids by this.
        compute_units: 16,
        conformance: false,
    }
}

/// `hw.memsize`.
fn physical_memory() -> Option<u64> {
    let mut bytes = 0u64;
    let mut len = size_of::<u64>();
    // SAFETY: the name is a C string, the value pointer and its length describe `bytes`.
    let status = unsafe {
        libc::sysctlbyname(
            c"hw.memsize".as_ptr(),
            std::ptr::from_mut(&mut bytes).cast(),
            &mut len,
            std::ptr::null_mut(),
            0,
        )
    };
    (status == 0).then_some(bytes)
}

fn size(extent: [u32; 3]) -> MTLSize {
    let [width, height, depth] = extent.map(|n| n as usize);
    MTLSize {
        width,
        height,
        depth,
    }
}

impl Driver for MetalDriver {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn load(&self, unit: &str, code: Option<&str>, kernels: &[&'static KernelSpec]) -> Result<()> {
        autoreleasepool(|_| {
            self.pipelines
                .add(&self.device, unit, code.unwrap_or_default(), kernels)
        })
    }

    fn unload(&self, kernels: &[&KernelSpec], _: Duration) {
        self.pipelines.remove(kernels);
    }

    fn allocate(&self, bytes: u64) -> DriverResult<Segment> {
        autoreleasepool(|_| {
            let buffer = self
                .device
                .newBufferWithLength_options(bytes as usize, MTLResourceOptions::StorageModeShared)
                .ok_or(Fault::OutOfMemory)?;
            let address = buffer.contents().as_ptr() as u64;
            Ok(Segment {
                address,
                object: Retained::into_raw(buffer) as usize,
                bytes,
            })
        })
    }

    fn release(&self, segment: Segment) {
        // SAFETY: the pointer came from `Retained::into_raw` in `allocate` and is given back once.
        // Command buffers retain the buffers that they use, so work in flight keeps it alive.
        drop(unsafe { Retained::from_raw(segment.object as *mut Buffer) });
    }

    fn dispatch(&self, dispatch: &Dispatch, tag: Tag) -> DriverResult {
        let name = dispatch.kernel.name;
        let Some(pipeline) = self.pipelines.get(dispatch.kernel) else {
            return Err(Fault::Error(MetalError::KernelMissing {
                kernel: name.into(),
                device: DeviceKind::Metal,
                reason: "its library was not given to the context".into(),
            }));
        };
        let requested = dispatch
            .shape
            .threads_per_group
            .iter()
            .map(|&t| t as u64)
            .product();
        let limit = pipeline.maxTotalThreadsPerThreadgroup() as u32;
        if requested > limit as u64 {
            return Err(Fault::Error(MetalError::TooManyThreads {
                kernel: name,
                requested,
                limit,
            }));
        }
        let threads = dispatch.shape.total_threads();
        lock(&self.queue).encode(tag, threads, |commands| {
            let encoder = commands.compute()?;
            encoder.setComputePipelineState(&pipeline);
            for (index, span) in dispatch.buffers.iter().enumerate() {
                if let Some(span) = span {
                    // SAFETY: the span lies in the buffer, and the index below 31.
                    unsafe {
                        encoder.setBuffer_offset_atIndex(
                            Some(Self::buffer(span)),
                            span.offset as usize,
                            index,
                        );
                    }
                }
            }
            for (index, value) in dispatch.values.iter().enumerate() {
                let Some(bytes) = value else { continue };
                let Some(data) = NonNull::new(bytes.as_ptr().cast_mut().cast()) else {
                    continue;
                };
                // SAFETY: `data` points to `bytes.len()` readable bytes, which Metal copies now.
                unsafe { encoder.setBytes_length_atIndex(data, bytes.len(), index) };
            }
            for index in 0..MAX_THREADGROUP_ARGS {
                let bytes = dispatch.threadgroup_bytes[index] as usize;
                if bytes > 0 {
                    let bytes = bytes.next_multiple_of(THREADGROUP_GRANULE);
                    // SAFETY: the launch checked the length against the device's limit.
                    unsafe { encoder.setThreadgroupMemoryLength_atIndex(bytes, index) };
                }
            }
            let shape = &dispatch.shape;
            let per_group = size(shape.threads_per_group);
            if shape.by_threads {
                encoder.dispatchThreads_threadsPerThreadgroup(size(shape.threads), per_group);
            } else {
                encoder.dispatchThreadgroups_threadsPerThreadgroup(size(shape.groups), per_group);
            }
            Ok(())
        })
    }

    fn fill(&self, dst: Span, byte: u8, tag: Tag) -> DriverResult {
        lock(&self.queue).encode(tag, dst.bytes / 16, |commands| {
            let range = NSRange::new(dst.offset as usize, dst.bytes as usize);
            commands
                .blit()?
                .fillBuffer_range_value(Self::buffer(&dst), range, byte);
            Ok(())
        })
    }

    fn copy(&self, src: Span, dst: Span, tag: Tag) -> DriverResult {
        let bytes = src.bytes.min(dst.bytes);
        lock(&self.queue).encode(tag, bytes / 16, |commands| {
            // SAFETY: both ranges lie in their buffers and do not overlap.
            unsafe {
                commands
                    .blit()?
                    .copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size(
                        Self::buffer(&src),
                        src.offset as usize,
                        Self::buffer(&dst),
                        dst.offset as usize,
                        bytes as usize,
                    );
            }
            Ok(())
        })
    }

    fn upload(&self, dst: Span, data: &[u8], fresh: bool, tag: Tag) -> DriverResult {
        let bytes = data.len().min(dst.bytes as usize);
        let Some(source) = NonNull::new(data.as_ptr().cast_mut()) else {
            return Ok(());
        };
        if bytes == 0 {
            return Ok(());
        }
        if fresh && self.info.unified {
            super::cpu::copy_bytes(data.as_ptr() as u64, dst.address(), bytes as u64);
            return Ok(());
        }
        // Work in flight may still use the target: the bytes go through a staging buffer in queue order.
        autoreleasepool(|_| {
            // SAFETY: `source` points to `bytes` readable bytes, which Metal copies now.
            let staging = unsafe {
                self.device.newBufferWithBytes_length_options(
                    source.cast(),
                    bytes,
                    MTLResourceOptions::StorageModeShared,
                )
            }
            .ok_or(Fault::OutOfMemory)?;
            lock(&self.queue).encode(tag, bytes as u64 / 16, |commands| {
                // SAFETY: both ranges lie in their buffers.
                unsafe {
                    commands
                        .blit()?
                        .copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size(
                            &staging,
                            0,
                            Self::buffer(&dst),
                            dst.offset as usize,
                            bytes,
                        );
                }
                Ok(())
            })
        })
    }

    fn download(&self, src: Span, out: &mut [u8], limit: Duration, _: Tag) -> DriverResult {
        self.wait(limit)?;
        let bytes = src.bytes.min(out.len() as u64);
        super::cpu::copy_bytes(src.address(), out.as_mut_ptr() as u64, bytes);
        Ok(())
    }

    fn submit(&self) -> DriverResult {
        lock(&self.queue).submit();
        Ok(())
    }

    fn wait(&self, limit: Duration) -> DriverResult {
        let (completion, last) = {
            let mut queue = lock(&self.queue);
            queue.submit();
            (queue.completion(), queue.submitted())
        };
        // The queue is not locked while waiting: another thread may go on encoding.
        completion.wait_for(last, limit)
    }

    fn epoch(&self) -> u64 {
        lock(&self.queue).submitted() + 1
    }

    fn completed(&self) -> u64 {
        lock(&self.queue).completion().completed()
    }

    fn mark(&self, _: Duration) -> DriverResult<Mark> {
        let mut queue = lock(&self.queue);
        queue.submit();
        Ok(Mark::Event(queue.submitted() as usize))
    }

    fn between(&self, start: Mark, end: Mark, limit: Duration) -> DriverResult<Duration> {
        let (Mark::Event(start), Mark::Event(end)) = (start, end) else {
            return Err(Fault::Lost("marks of another driver".into()));
        };
        let completion = lock(&self.queue).completion();
        completion.wait_for(end as u64, limit)?;
        Ok(completion.gpu_time(start as u64, end as u64))
    }

    fn take_timings(&self) -> Vec<(Tag, u64)> {
        lock(&self.queue).completion().take_timings()
    }
}
