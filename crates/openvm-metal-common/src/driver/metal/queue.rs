//! The command queue: one open command buffer, and what is known about those that were submitted.

use std::collections::{BTreeMap, VecDeque};
use std::ptr::NonNull;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use block2::RcBlock;
use objc2::rc::{autoreleasepool, Retained};
use objc2::runtime::ProtocolObject;
use objc2_metal::{
    MTLBlitCommandEncoder, MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandEncoder,
    MTLCommandQueue, MTLComputeCommandEncoder, MTLDevice,
};

use super::Device;
use crate::device::DeviceKind;
use crate::driver::{DriverResult, Fault, Tag};
use crate::error::{MetalError, Result};
use crate::lock;

/// Threads after which the open command buffer is handed over, so that one submission stays well under
/// the watchdog of Macs with a display (a thread of our kernels takes 10 ns to 1 us of one lane).
const THREADS_PER_SUBMISSION: u64 = 1 << 24;
/// Operations after which it is handed over, so that the device starts while the host goes on encoding.
const OPERATIONS_PER_SUBMISSION: u32 = 64;
/// Submissions that may be unfinished before the host waits; below the 64 after which Metal itself would
/// block, without a limit.
const MAX_IN_FLIGHT: u64 = 48;
/// Longest wait for one of them; each is meant to take about 100 ms.
const BACKLOG_WAIT: Duration = Duration::from_secs(60);
/// Submissions whose GPU times are remembered for `time` and the profile.
const REMEMBERED: usize = 1 << 14;

type CommandBuffer = Retained<ProtocolObject<dyn MTLCommandBuffer>>;
type Compute = Retained<ProtocolObject<dyn MTLComputeCommandEncoder>>;
type Blit = Retained<ProtocolObject<dyn MTLBlitCommandEncoder>>;

/// Commands that are encoded but not submitted; at most one encoder is open at a time.
pub(super) struct Commands {
    buffer: CommandBuffer,
    compute: Option<Compute>,
    blit: Option<Blit>,
    threads: u64,
    operations: u32,
}

impl Commands {
    /// The open compute encoder: dispatches in it run one after another.
    pub fn compute(&mut self) -> DriverResult<&ProtocolObject<dyn MTLComputeCommandEncoder>> {
        if let Some(blit) = self.blit.take() {
            blit.endEncoding();
        }
        if self.compute.is_none() {
            self.compute = self.buffer.computeCommandEncoder();
        }
        self.compute.as_deref().ok_or_else(no_encoder)
    }

    /// The open blit encoder.
    pub fn blit(&mut self) -> DriverResult<&ProtocolObject<dyn MTLBlitCommandEncoder>> {
        if let Some(compute) = self.compute.take() {
            compute.endEncoding();
        }
        if self.blit.is_none() {
            self.blit = self.buffer.blitCommandEncoder();
        }
        self.blit.as_deref().ok_or_else(no_encoder)
    }

    fn end(&mut self) {
        if let Some(compute) = self.compute.take() {
            compute.endEncoding();
        }
        if let Some(blit) = self.blit.take() {
            blit.endEncoding();
        }
    }
}

fn no_encoder() -> Fault {
    Fault::Failed("Metal gave no encoder".into())
}

/// The queue of a context. Submissions are numbered from 1 in the order in which they run.
pub(super) struct Queue {
    queue: Retained<ProtocolObject<dyn MTLCommandQueue>>,
    open: Option<Commands>,
    submitted: u64,
    completion: Arc<Completion>,
}

// SAFETY: Metal objects may be used from any thread, one at a time for encoders and command buffers that
// are being encoded; the queue is only reached through the driver's mutex.
unsafe impl Send for Queue {}

impl Queue {
    pub fn new(device: &Device) -> Result<Self> {
        let queue = device
            .newCommandQueue()
            .ok_or_else(|| MetalError::DeviceUnavailable {
                device: DeviceKind::Metal,
                reason: "Metal gave no command queue".into(),
            })?;
        Ok(Self {
            queue,
            open: None,
            submitted: 0,
            completion: Arc::default(),
        })
    }

    /// Encodes one operation of about `threads` threads. An operation with a tag is submitted by itself,
    /// because Metal has GPU times for command buffers only.
    pub fn encode(
        &mut self,
        tag: Tag,
        threads: u64,
        operation: impl FnOnce(&mut Commands) -> DriverResult,
    ) -> DriverResult {
        autoreleasepool(|_| {
            if tag != 0 {
                self.submit();
            }
            let commands = match &mut self.open {
                Some(commands) => commands,
                slot => {
                    let oldest = (self.submitted + 1).saturating_sub(MAX_IN_FLIGHT);
                    self.completion.wait_for(oldest, BACKLOG_WAIT)?;
                    let buffer = self
                        .queue
                        .commandBuffer()
                        .ok_or_else(|| Fault::Failed("Metal gave no command buffer".into()))?;
                    slot.insert(Commands {
                        buffer,
                        compute: None,
                        blit: None,
                        threads: 0,
                        operations: 0,
                    })
                }
            };
            operation(commands)?;
            commands.threads += threads;
            commands.operations += 1;
            let full = commands.threads >= THREADS_PER_SUBMISSION
                || commands.operations >= OPERATIONS_PER_SUBMISSION;
            if tag != 0 {
                self.submit_tagged(tag);
            } else if full {
                self.submit();
            }
            Ok(())
        })
    }

    /// Hands the open command buffer, if any, to the device.
    pub fn submit(&mut self) {
        self.submit_tagged(0);
    }

    fn submit_tagged(&mut self, tag: Tag) {
        let Some(mut commands) = self.open.take() else {
            return;
        };
        commands.end();
        self.submitted += 1;
        let (number, completion) = (self.submitted, self.completion.clone());
        let handler = RcBlock::new(
            move |buffer: NonNull<ProtocolObject<dyn MTLCommandBuffer>>| {
                // SAFETY: Metal passes the command buffer, alive for the call.
                completion.finished(number, tag, unsafe { buffer.as_ref() });
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

    pub fn completion(&self) -> Arc<Completion> {
        self.completion.clone()
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Metal aborts if an encoder is released while it is open; what it holds is not run.
        if let Some(commands) = &mut self.open {
            commands.end();
        }
    }
}

/// What the completion handlers report. Waiting threads are parked: spinning would take power, and
/// so clock, from the GPU.
#[derive(Default)]
pub(super) struct Completion {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// All submissions up to this one have finished.
    completed: u64,
    /// Finished out of order of their numbers.
    ahead: BTreeMap<u64, ()>,
    /// The first that failed, and why.
    failed: Option<(u64, String)>,
    /// GPU nanoseconds by submission.
    times: BTreeMap<u64, u64>,
    tagged: VecDeque<(Tag, u64)>,
}

impl Completion {
    fn finished(&self, number: u64, tag: Tag, buffer: &ProtocolObject<dyn MTLCommandBuffer>) {
        let failure = (buffer.status() == MTLCommandBufferStatus::Error).then(|| {
            buffer.error().map_or_else(
                || "the command buffer failed without an error".to_owned(),
                |error| error.localizedDescription().to_string(),
            )
        });
        let seconds = buffer.GPUEndTime() - buffer.GPUStartTime();
        let nanoseconds = (seconds.max(0.0) * 1e9) as u64;
        let mut state = lock(&self.state);
        if let Some(reason) = failure {
            state.failed.get_or_insert((number, reason));
        }
        state.times.insert(number, nanoseconds);
        while state.times.len() > REMEMBERED {
            state.times.pop_first();
        }
        if tag != 0 {
            state.tagged.push_back((tag, nanoseconds));
        }
        state.ahead.insert(number, ());
        loop {
            let next = state.completed + 1;
            if state.ahead.remove(&next).is_none() {
                break;
            }
            state.completed = next;
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Waits until submission `number` and all before it have finished, and reports the first failure.
    pub fn wait_for(&self, number: u64, limit: Duration) -> DriverResult {
        let start = Instant::now();
        let mut state = lock(&self.state);
        while state.completed < number {
            let Some(left) = limit.checked_sub(start.elapsed()) else {
                return Err(Fault::Timeout(limit));
            };
            state = match self.changed.wait_timeout(state, left) {
                Ok((state, _)) => state,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        match &state.failed {
            Some((failed, reason)) if *failed <= number => Err(Fault::Failed(reason.clone())),
            _ => Ok(()),
        }
    }

    pub fn completed(&self) -> u64 {
        lock(&self.state).completed
    }

    /// GPU time of the submissions after `start` up to `end`.
    pub fn gpu_time(&self, start: u64, end: u64) -> Duration {
        let state = lock(&self.state);
        Duration::from_nanos(state.times.range(start + 1..=end).map(|(_, t)| t).sum())
    }

    /// GPU times of tagged operations, forgotten afterwards.
    pub fn take_timings(&self) -> Vec<(Tag, u64)> {
        lock(&self.state).tagged.drain(..).collect()
    }
}
