//! The command queue: one open command buffer, committed when the stream says so.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use block2::RcBlock;
use objc2::rc::{autoreleasepool, Retained};
use objc2::runtime::ProtocolObject;
use objc2::Message;
use objc2_foundation::NSString;
use objc2_metal::{
    MTLBarrierScope, MTLBlitCommandEncoder, MTLCommandBuffer, MTLCommandBufferDescriptor,
    MTLCommandBufferErrorOption, MTLCommandBufferStatus, MTLCommandEncoder, MTLCommandQueue,
    MTLComputeCommandEncoder, MTLDevice, MTLDispatchType, MTLResourceUsage,
};

use super::{buffer, failure, Buffer, Device};
use crate::device_kind::DeviceKind;
use crate::driver::apple::encoders::{self, Encoded};
use crate::driver::completion::{Completion, Submission};
use crate::driver::{DriverResult, Fault, Tag};
use crate::error::{MetalError, Result};
use crate::kernel::MAX_THREADGROUP_ARGS;
use crate::memory::Span;
use crate::order::{Access, Running};
use crate::plan::Work;
use crate::stage::current_stage;

/// Operations that a submission usually holds at most.
const OPERATIONS: usize = 64;
/// Submissions that may be unfinished before the host waits; below the 64 after which Metal itself would
/// block, without a limit.
const MAX_IN_FLIGHT: usize = 48;
/// Modelled nanoseconds of unfinished submissions after which the host waits too: enough to keep the device
/// busy, and few enough that what the first slices of a long dispatch took is known before all are encoded.
const MOST_NS_IN_FLIGHT: f64 = 250e6;
/// Longest wait for one of them until a wait with another limit was made.
const FIRST_LIMIT: Duration = Duration::from_secs(60);
/// Environment variable: `1` makes the errors of all command buffers tell the state of each encoder. Those of timed
/// operations do anyway, and all after the first error of the process.
const ERROR_DETAILS_VARIABLE: &str = "OPENVM_METAL_ERROR_DETAILS";
/// Threadgroup memory lengths are multiples of this.
const THREADGROUP_GRANULE: u32 = 16;

type CommandBuffer = Retained<ProtocolObject<dyn MTLCommandBuffer>>;
type Compute = Retained<ProtocolObject<dyn MTLComputeCommandEncoder>>;
type Blit = Retained<ProtocolObject<dyn MTLBlitCommandEncoder>>;

/// An encoded operation, for times and messages.
pub(super) struct Operation {
    pub work: Work,
    pub tag: Tag,
}

/// Commands that are encoded but not submitted; at most one encoder is open at a time.
pub(super) struct Commands {
    buffer: CommandBuffer,
    compute: Option<Compute>,
    /// Threadgroup memory set in the open compute encoder, which keeps it from dispatch to dispatch.
    threadgroup: [u32; MAX_THREADGROUP_ARGS],
    blit: Option<Blit>,
    /// Segments that kernels of the open compute encoder may reach by address.
    resident: BTreeSet<usize>,
    /// The same of all encoders, kept until the submission has ended: kernels use them though no argument names them.
    kept: BTreeMap<usize, Retained<Buffer>>,
    /// Memory that dispatches in the open compute encoder use since its last barrier; absent if they run one after
    /// another.
    running: Option<Running>,
    operations: Vec<Work>,
    /// Name of the operation being encoded, for the label of an encoder that it opens.
    operation: &'static str,
    /// Contents of each encoder, for errors.
    encoders: Vec<Encoded>,
}

impl Commands {
    /// The open compute encoder with these bytes of threadgroup memory by index, for a dispatch that uses this
    /// memory: it comes after those before it that use the same. Metal itself orders encoders that share a
    /// buffer.
    pub fn compute(
        &mut self,
        threadgroup: &[u32; MAX_THREADGROUP_ARGS],
        accesses: impl Iterator<Item = Access> + Clone,
    ) -> DriverResult<&ProtocolObject<dyn MTLComputeCommandEncoder>> {
        if let Some(blit) = self.blit.take() {
            blit.endEncoding();
        }
        let wanted = threadgroup.map(|bytes| bytes.next_multiple_of(THREADGROUP_GRANULE));
        // Lengths count towards the device's limit even if the kernel has no such argument, and 0 is refused.
        let leftover =
            std::iter::zip(&self.threadgroup, &wanted).any(|(&old, &new)| old > 0 && new == 0);
        if leftover {
            self.end_compute();
        }
        if self.compute.is_none() {
            let kind = match self.running {
                Some(_) => MTLDispatchType::Concurrent,
                None => MTLDispatchType::Serial,
            };
            self.compute = self.buffer.computeCommandEncoderWithDispatchType(kind);
            if let Some(compute) = &self.compute {
                compute.setLabel(Some(&label(
                    &mut self.encoders,
                    &self.operations,
                    self.operation,
                )));
            }
            self.threadgroup = [0; MAX_THREADGROUP_ARGS];
        }
        let encoder = self.compute.as_deref().ok_or_else(no_encoder)?;
        if self
            .running
            .as_mut()
            .is_some_and(|running| running.add(accesses))
        {
            encoder.memoryBarrierWithScope(MTLBarrierScope::Buffers);
        }
        for (index, &bytes) in wanted.iter().enumerate() {
            if bytes != self.threadgroup[index] {
                // SAFETY: a multiple of 16; the driver checked the sum against the device's limit.
                unsafe { encoder.setThreadgroupMemoryLength_atIndex(bytes as usize, index) };
            }
        }
        self.threadgroup = wanted;
        Ok(encoder)
    }

    /// The open compute encoder, whose kernels may reach the segments of these ranges by address from now on. Metal orders it
    /// with other encoders that use them.
    pub fn reach(
        &mut self,
        spans: &[Span],
    ) -> DriverResult<&ProtocolObject<dyn MTLComputeCommandEncoder>> {
        let encoder = self.compute.as_deref().ok_or_else(no_encoder)?;
        for span in spans {
            let object = span.segment.object;
            if self.resident.insert(object) {
                let buffer = buffer(span);
                let usage = MTLResourceUsage::Read | MTLResourceUsage::Write;
                encoder.useResource_usage(ProtocolObject::from_ref(buffer), usage);
                self.kept.entry(object).or_insert_with(|| buffer.retain());
            }
        }
        Ok(encoder)
    }

    /// The open blit encoder.
    pub fn blit(&mut self) -> DriverResult<&ProtocolObject<dyn MTLBlitCommandEncoder>> {
        self.end_compute();
        if self.blit.is_none() {
            self.blit = self.buffer.blitCommandEncoder();
            if let Some(blit) = &self.blit {
                blit.setLabel(Some(&label(
                    &mut self.encoders,
                    &self.operations,
                    self.operation,
                )));
            }
        }
        self.blit.as_deref().ok_or_else(no_encoder)
    }

    fn end_compute(&mut self) {
        if let Some(compute) = self.compute.take() {
            compute.endEncoding();
        }
        self.resident.clear();
        if let Some(running) = &mut self.running {
            running.clear();
        }
    }

    fn end(&mut self) {
        self.end_compute();
        if let Some(blit) = self.blit.take() {
            blit.endEncoding();
        }
    }
}

/// Notes an encoder that is opened for `operation`, and names it.
fn label(encoders: &mut Vec<Encoded>, operations: &[Work], operation: &str) -> Retained<NSString> {
    let (stage, next) = (current_stage(), operations.len());
    let text = encoders::label(encoders.len(), &stage, operation);
    encoders.push(Encoded {
        stage: stage.to_string(),
        operations: next..next,
    });
    NSString::from_str(&text)
}

fn no_encoder() -> Fault {
    Fault::Failed("Metal gave no encoder".into())
}

/// The queue of a context. Submissions are numbered from 1 in the order in which they run.
pub(super) struct Queue {
    queue: Retained<ProtocolObject<dyn MTLCommandQueue>>,
    /// Descriptor of command buffers.
    plain: Retained<MTLCommandBufferDescriptor>,
    /// The same of command buffers whose errors tell the state of each encoder, for which Metal does more work.
    detailed: Retained<MTLCommandBufferDescriptor>,
    /// All command buffers are detailed.
    details: bool,
    open: Option<Commands>,
    submitted: u64,
    /// Numbers and modelled nanoseconds of submissions that may be unfinished, oldest first, and their sum.
    in_flight: (VecDeque<(u64, f64)>, f64),
    completion: Arc<Completion>,
    limit: Duration,
    concurrent: bool,
}

// SAFETY: Metal objects may be used from any thread, one at a time for encoders and command buffers that
// are being encoded; the queue is only reached through the driver's mutex.
unsafe impl Send for Queue {}

impl Queue {
    /// `concurrent`: dispatches may overlap.
    pub fn new(device: &Device, completion: Arc<Completion>, concurrent: bool) -> Result<Self> {
        let queue = device
            .newCommandQueue()
            .ok_or_else(|| MetalError::DeviceUnavailable {
                device: DeviceKind::Metal,
                reason: "Metal gave no command queue".into(),
            })?;
        queue.setLabel(Some(&NSString::from_str("openvm-metal")));
        let (plain, detailed) = (
            MTLCommandBufferDescriptor::new(),
            MTLCommandBufferDescriptor::new(),
        );
        detailed.setErrorOptions(MTLCommandBufferErrorOption::EncoderExecutionStatus);
        Ok(Self {
            queue,
            plain,
            detailed,
            details: details_from_env()?,
            open: None,
            submitted: 0,
            in_flight: (VecDeque::new(), 0.0),
            completion,
            limit: FIRST_LIMIT,
            concurrent,
        })
    }

    /// Encodes one operation. One with a tag is submitted by itself, because Metal has GPU times for command
    /// buffers only.
    pub fn encode(
        &mut self,
        op: Operation,
        encode: impl FnOnce(&mut Commands) -> DriverResult,
    ) -> DriverResult {
        autoreleasepool(|_| {
            if op.tag != 0 {
                self.submit();
            }
            if self.open.is_none() {
                self.wait_for_room()?;
            }
            let commands = match &mut self.open {
                Some(commands) => commands,
                slot => {
                    let details = self.details || op.tag != 0 || failure::seen();
                    let descriptor = if details { &self.detailed } else { &self.plain };
                    let buffer = self
                        .queue
                        .commandBufferWithDescriptor(descriptor)
                        .ok_or_else(|| Fault::Failed("Metal gave no command buffer".into()))?;
                    let name = format!("submission {}", self.submitted + 1);
                    buffer.setLabel(Some(&NSString::from_str(&name)));
                    slot.insert(Commands {
                        buffer,
                        compute: None,
                        threadgroup: [0; MAX_THREADGROUP_ARGS],
                        blit: None,
                        resident: BTreeSet::new(),
                        kept: BTreeMap::new(),
                        running: self.concurrent.then(Running::default),
                        operations: Vec::with_capacity(OPERATIONS),
                        operation: op.work.name,
                        encoders: Vec::new(),
                    })
                }
            };
            commands.operation = op.work.name;
            encode(commands)?;
            commands.operations.push(op.work);
            if let Some(encoder) = commands.encoders.last_mut() {
                encoder.operations.end = commands.operations.len();
            }
            if op.tag != 0 {
                self.submit_tagged(op.tag);
            }
            Ok(())
        })
    }

    /// Waits until few enough submissions are unfinished.
    fn wait_for_room(&mut self) -> DriverResult {
        loop {
            let completed = self.completion.completed();
            while let Some(&(number, modelled)) = self.in_flight.0.front() {
                if number > completed {
                    break;
                }
                self.in_flight.0.pop_front();
                self.in_flight.1 -= modelled;
            }
            let (unfinished, modelled) = &self.in_flight;
            let Some(&(oldest, _)) = unfinished.front() else {
                self.in_flight.1 = 0.0;
                return Ok(());
            };
            if unfinished.len() < MAX_IN_FLIGHT && *modelled < MOST_NS_IN_FLIGHT {
                return Ok(());
            }
            self.completion.wait_for(oldest, self.limit)?;
        }
    }

    /// Hands the open command buffer, if any, to the device.
    pub fn submit(&mut self) {
        autoreleasepool(|_| self.submit_tagged(0));
    }

    fn submit_tagged(&mut self, tag: Tag) {
        let Some(mut commands) = self.open.take() else {
            return;
        };
        commands.end();
        self.submitted += 1;
        let modelled = commands.operations.iter().map(|work| work.modelled).sum();
        self.in_flight.0.push_back((self.submitted, modelled));
        self.in_flight.1 += modelled;
        let submission = Submission {
            number: self.submitted,
            tag,
            operations: commands.operations,
        };
        let completion = self.completion.clone();
        let (encoders, kept) = (commands.encoders, commands.kept);
        let handler = RcBlock::new(
            move |buffer: NonNull<ProtocolObject<dyn MTLCommandBuffer>>| {
                // SAFETY: Metal passes the command buffer, alive for the call.
                let buffer = unsafe { buffer.as_ref() };
                autoreleasepool(|_| ended(&completion, &submission, &encoders, buffer));
                // With the block they go.
                let _ = &kept;
            },
        );
        // SAFETY: the block takes the argument that Metal passes; Metal copies the block.
        unsafe {
            commands
                .buffer
                .addCompletedHandler(RcBlock::as_ptr(&handler))
        };
        commands.buffer.commit();
    }

    /// Number of the newest submission.
    pub fn submitted(&self) -> u64 {
        self.submitted
    }

    /// True if nothing is encoded that is not submitted.
    pub fn is_empty(&self) -> bool {
        self.open.is_none()
    }

    /// Longest wait for the device, as the last wait was told.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Sets the longest wait for the device when too many submissions are unfinished.
    pub fn set_limit(&mut self, limit: Duration) {
        self.limit = limit;
    }
}

/// Meaning of [`ERROR_DETAILS_VARIABLE`].
fn details_from_env() -> Result<bool> {
    let value = std::env::var(ERROR_DETAILS_VARIABLE).unwrap_or_default();
    match value.as_str() {
        "" | "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(MetalError::InvalidSetting {
            variable: ERROR_DETAILS_VARIABLE,
            value,
            expected: "0 or 1",
        }),
    }
}

/// Called on a thread of Metal's when a command buffer has ended; its status is final now.
fn ended(
    completion: &Completion,
    submission: &Submission,
    encoders: &[Encoded],
    buffer: &ProtocolObject<dyn MTLCommandBuffer>,
) {
    let failure = (buffer.status() == MTLCommandBufferStatus::Error)
        .then(|| failure::fault(buffer.error().as_deref(), submission, encoders));
    let seconds = buffer.GPUEndTime() - buffer.GPUStartTime();
    completion.finished(submission, (seconds.max(0.0) * 1e9) as u64, failure);
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Metal aborts if an encoder is released while it is open; what it holds is not run.
        if let Some(commands) = &mut self.open {
            autoreleasepool(|_| commands.end());
        }
    }
}
