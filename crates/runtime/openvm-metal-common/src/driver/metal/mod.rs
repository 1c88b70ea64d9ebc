//! Apple GPUs through Metal.
//!
//! Kernels come from libraries compiled with the program, if the build machine had Apple's tools, else they
//! are compiled from the embedded source when the context is made (no Xcode). Buffers have shared storage
//! and tracked hazards, and everything goes through one command queue in the order of the calls; dispatches of one
//! encoder overlap where they use different memory.

mod bytes;
mod cache;
mod capture;
#[cfg(target_os = "macos")]
mod cores;
mod device;
mod failure;
mod launch;
mod library;
mod pipeline;
mod queue;
mod trial;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use objc2::rc::{autoreleasepool, Retained};
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSString;
use objc2_metal::{MTLBuffer, MTLDevice, MTLResource, MTLResourceOptions};

use self::bytes::{ByteKernels, Range};
use self::capture::Capture;
use self::launch::{fitted, launch, threadgroup_memory};
use self::library::Pipelines;
use self::pipeline::Prepared;
use self::queue::{Operation, Queue};
use super::completion::Completion;
use super::{Dispatch, Driver, DriverResult, Fault, Mark, OpenOptions, Tag};
use crate::device::DeviceInfo;
use crate::diagnostic::Diagnostic;
use crate::error::Result;
use crate::grid::Shape;
use crate::kernel::{KernelLibrary, KernelSpec};
use crate::lock;
use crate::memory::{Segment, Span};
use crate::order::{Access, Order};
use crate::plan::Work;
use crate::report::{KernelLimits, KernelReport};

type Device = Retained<ProtocolObject<dyn MTLDevice>>;
type Buffer = ProtocolObject<dyn MTLBuffer>;

/// An upload of so many bytes waits for the work before it rather than taking as much memory again.
const LARGE_UPLOAD: u64 = 64 << 20;

pub(crate) struct MetalDriver {
    info: DeviceInfo,
    // Ends before the queue goes.
    _capture: Option<Capture>,
    pipelines: Pipelines,
    bytes: ByteKernels,
    queue: Mutex<Queue>,
    completion: Arc<Completion>,
    /// Segments made so far, for their names.
    segments: AtomicUsize,
    device: Device,
}

/// Facts about the system's GPU and the origin of these kernels, without preparing them.
pub(crate) fn probe(
    libraries: &[&'static KernelLibrary],
    budget: Option<u64>,
) -> Result<DeviceInfo> {
    autoreleasepool(|_| {
        let device = device::find()?;
        let origin = library::probe(&device, libraries)?;
        let profile = device::profile(&device, budget);
        Ok(device::info(&device, profile, &origin))
    })
}

impl MetalDriver {
    /// Opens the system's GPU and prepares every kernel for it.
    pub fn open(options: OpenOptions) -> Result<Box<dyn Driver>> {
        autoreleasepool(|_| {
            let device = device::find()?;
            let capture = capture::begin(&device)?;
            let profile = device::profile(&device, options.budget);
            let pipelines = Pipelines::compile(&device, &options, &profile)?;
            let completion = Arc::new(Completion::default());
            let concurrent = options.order == Order::Concurrent;
            let queue = Mutex::new(Queue::new(&device, completion.clone(), concurrent)?);
            Ok(Box::new(Self {
                info: device::info(&device, profile, &pipelines.origin),
                _capture: capture,
                pipelines,
                bytes: ByteKernels::default(),
                queue,
                completion,
                segments: AtomicUsize::new(0),
                device,
            }) as Box<dyn Driver>)
        })
    }

    /// True if the host may write memory that encoded work uses: nothing is encoded or running. For large
    /// uploads this waits.
    fn quiet(&self, bytes: u64) -> DriverResult<bool> {
        let (last, limit) = {
            let mut queue = lock(&self.queue);
            if queue.is_empty() && self.completion.completed() >= queue.submitted() {
                return Ok(true);
            }
            if bytes < LARGE_UPLOAD {
                return Ok(false);
            }
            queue.submit();
            (queue.submitted(), queue.limit())
        };
        self.completion.wait_for(last, limit).map(|()| true)
    }

    /// The kernel's pipeline.
    fn prepared(&self, kernel: &'static KernelSpec) -> DriverResult<Prepared> {
        Ok(self.pipelines.get(kernel)?)
    }
}

impl Driver for MetalDriver {
    fn info(&self) -> &DeviceInfo {
        &self.info
    }

    fn report(&self) -> &KernelReport {
        self.pipelines.report()
    }

    fn limits(&self, kernel: &'static KernelSpec) -> Result<KernelLimits> {
        self.pipelines.get(kernel).map(|prepared| prepared.limits())
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
        if bytes > self.info.profile.max_buffer {
            return Err(Fault::OutOfMemory);
        }
        autoreleasepool(|_| {
            let buffer = self
                .device
                .newBufferWithLength_options(bytes as usize, MTLResourceOptions::StorageModeShared)
                .ok_or(Fault::OutOfMemory)?;
            let address = buffer.contents().as_ptr() as u64;
            // Older systems do not have the method.
            let reached = match self.info.profile.addresses {
                true => buffer.gpuAddress(),
                false => address,
            };
            let number = self.segments.fetch_add(1, Ordering::Relaxed);
            let label = format!("openvm-metal segment {number}");
            buffer.setLabel(Some(&NSString::from_str(&label)));
            Ok(Segment {
                address,
                reached,
                object: Retained::into_raw(buffer) as usize,
                bytes,
            })
        })
    }

    fn release(&self, segment: Segment) {
        // SAFETY: the pointer came from `Retained::into_raw` in `allocate` and is given back once.
        // Command buffers retain the buffers that they use, so work in flight keeps it alive.
        let buffer = unsafe { Retained::from_raw(segment.object as *mut Buffer) };
        autoreleasepool(|_| drop(buffer));
    }

    fn shape(&self, kernel: &'static KernelSpec, shape: Shape) -> DriverResult<Shape> {
        let limit = self.prepared(kernel)?.threads;
        fitted(kernel, shape, limit)
    }

    fn can_cut(&self, kernel: &'static KernelSpec) -> bool {
        kernel.slices
    }

    fn dispatch(&self, dispatch: &Dispatch, tag: Tag) -> DriverResult {
        let kernel = self.prepared(dispatch.kernel)?;
        let most = self.info.profile.max_threadgroup_memory;
        let threadgroup = threadgroup_memory(most, dispatch, &kernel)?;
        let op = Operation {
            work: dispatch.work,
            tag,
        };
        lock(&self.queue).encode(op, |commands| {
            launch(commands, dispatch, &kernel, &threadgroup)
        })
    }

    fn fill(&self, dst: Span, byte: u8, work: Work, tag: Tag) -> DriverResult {
        let numbers = [dst.offset, dst.bytes];
        let kernels = self
            .bytes
            .if_needed(&self.device, &self.pipelines, &numbers)?;
        lock(&self.queue).encode(Operation { work, tag }, |commands| {
            bytes::fill(commands, kernels, &dst, byte)
        })
    }

    fn copy(&self, src: Span, dst: Span, work: Work, tag: Tag) -> DriverResult {
        let bytes = src.bytes.min(dst.bytes);
        let numbers = [src.offset, dst.offset, bytes];
        let kernels = self
            .bytes
            .if_needed(&self.device, &self.pipelines, &numbers)?;
        lock(&self.queue).encode(Operation { work, tag }, |commands| {
            let uses = [Access::read(&src), Access::write(&dst)];
            bytes::copy(commands, kernels, [range(&src), range(&dst)], bytes, &uses)
        })
    }

    fn upload(&self, dst: Span, data: &[u8], fresh: bool, tag: Tag) -> DriverResult {
        let bytes = dst.bytes.min(data.len() as u64);
        let source = NonNull::from(data).cast();
        if bytes == 0 {
            return Ok(());
        }
        if self.info.profile.unified && (fresh || self.quiet(bytes)?) {
            super::cpu::copy_bytes(data.as_ptr() as u64, dst.address(), bytes);
            return Ok(());
        }
        // Work in flight may still use the target: the bytes go through a staging buffer in queue order.
        let numbers = [dst.offset, bytes];
        let kernels = self
            .bytes
            .if_needed(&self.device, &self.pipelines, &numbers)?;
        autoreleasepool(|_| {
            // SAFETY: `source` points to `bytes` readable bytes, which Metal copies now.
            let staging = unsafe {
                self.device.newBufferWithBytes_length_options(
                    source,
                    bytes as usize,
                    MTLResourceOptions::StorageModeShared,
                )
            }
            .ok_or(Fault::OutOfMemory)?;
            let source = Range {
                buffer: &staging,
                offset: 0,
            };
            let op = Operation {
                work: Work::untold("copy h2d"),
                tag,
            };
            lock(&self.queue).encode(op, |commands| {
                let uses = [Access::write(&dst)];
                bytes::copy(commands, kernels, [source, range(&dst)], bytes, &uses)
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
        let last = {
            let mut queue = lock(&self.queue);
            queue.set_limit(limit);
            queue.submit();
            queue.submitted()
        };
        // The queue is not locked while waiting: another thread may go on encoding.
        self.completion.wait_for(last, limit)
    }

    fn epoch(&self) -> u64 {
        let queue = lock(&self.queue);
        queue.submitted() + u64::from(!queue.is_empty())
    }

    fn completed(&self) -> u64 {
        self.completion.completed()
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
        self.completion.wait_for(end as u64, limit)?;
        Ok(self.completion.gpu_time(start as u64, end as u64))
    }

    fn take_timings(&self) -> Vec<(Tag, u64)> {
        self.completion.take_timings()
    }

    fn take_measured(&self) -> Vec<(Vec<Work>, u64)> {
        self.completion.take_measured()
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        autoreleasepool(|_| {
            vec![
                Diagnostic::new("GPU families", device::families(&self.device)),
                Diagnostic::new("kernel code", self.pipelines.origin.to_string()),
                Diagnostic::new("validation", self.pipelines.validation.summary()),
                Diagnostic::new("submissions", self.completion.summary()),
                Diagnostic::new(
                    "bytes allocated by this process",
                    self.device.currentAllocatedSize().to_string(),
                ),
            ]
        })
    }
}

/// The retained buffer behind a span.
fn buffer(span: &Span) -> &Buffer {
    // SAFETY: `object` is the pointer of a buffer retained in `allocate`; the caller of the driver
    // guarantees that the segment is live.
    unsafe { &*(span.segment.object as *const Buffer) }
}

fn range(span: &Span) -> Range<'_> {
    Range {
        buffer: buffer(span),
        offset: span.offset,
    }
}
