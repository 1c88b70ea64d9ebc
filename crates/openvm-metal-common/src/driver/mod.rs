//! The small interface between the run time and a device, and the three devices behind it.

#[cfg(any(test, target_vendor = "apple"))]
mod apple;
#[cfg(any(test, target_vendor = "apple"))]
mod completion;
pub(crate) mod cpu;
#[cfg(not(target_vendor = "apple"))]
mod cuda;
#[cfg(any(test, target_vendor = "apple"))]
mod inlining;
pub(crate) mod kernels;
#[cfg(any(test, not(target_vendor = "apple")))]
mod loading;
#[cfg(target_vendor = "apple")]
mod metal;
#[cfg(any(test, target_vendor = "apple"))]
mod origin;
mod shuffled;

use std::ops::Range;
use std::time::Duration;

use crate::device::{Device, DeviceInfo, DeviceKind};
use crate::device_profile::DeviceProfile;
use crate::diagnostic::Diagnostic;
use crate::error::{MetalError, Result};
use crate::grid::Shape;
use crate::kernel::{KernelLibrary, KernelSpec, MAX_BUFFERS, MAX_THREADGROUP_ARGS};
use crate::order::{Order, ORDER_VARIABLE};
use crate::plan::{Slice, Work};
use crate::report::{KernelLimits, KernelReport};

/// A piece of memory obtained from a driver, later cut into allocations by the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    /// Host address (CPU, Metal) or device address (CUDA) of the first byte.
    pub address: u64,
    /// Driver object behind it (Metal: the retained `MTLBuffer`), or 0.
    pub object: usize,
    pub bytes: u64,
}

/// A range of bytes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub segment: Segment,
    pub offset: u64,
    pub bytes: u64,
}

impl Span {
    /// Address of the first byte, see [`Segment::address`].
    pub fn address(&self) -> u64 {
        self.segment.address + self.offset
    }

    /// A range of its bytes.
    pub fn part(&self, bytes: Range<u64>) -> Self {
        debug_assert!(bytes.start <= bytes.end && bytes.end <= self.bytes);
        Self {
            segment: self.segment,
            offset: self.offset + bytes.start,
            bytes: bytes.end - bytes.start,
        }
    }

    /// Bytes that both ranges have.
    pub fn overlap(&self, other: &Self) -> u64 {
        if self.segment != other.segment {
            return 0;
        }
        let end = (self.offset + self.bytes).min(other.offset + other.bytes);
        end.saturating_sub(self.offset.max(other.offset))
    }
}

/// A slice of a validated dispatch.
pub(crate) struct Dispatch<'a> {
    pub kernel: &'static KernelSpec,
    /// The whole grid.
    pub shape: Shape,
    /// What of it is to run now.
    pub slice: Slice,
    /// What is expected of the slice.
    pub work: Work,
    /// By `[[buffer(n)]]` index.
    pub buffers: &'a [Option<Span>; MAX_BUFFERS],
    /// By `[[buffer(n)]]` index: bytes of `constant T&` arguments.
    pub values: &'a [Option<&'a [u8]>; MAX_BUFFERS],
    /// Bytes by `[[threadgroup(n)]]` index.
    pub threadgroup_bytes: &'a [u32; MAX_THREADGROUP_ARGS],
}

/// What a driver reports; the context adds stage and kernels.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// The device is gone for good.
    Lost(String),
    /// What was submitted did not complete correctly.
    Failed(String),
    /// The bounded wait ran out.
    Timeout(Duration),
    /// The device has no memory left.
    OutOfMemory,
    /// An error that is already complete.
    Error(MetalError),
}

impl From<MetalError> for Fault {
    fn from(error: MetalError) -> Self {
        Self::Error(error)
    }
}

/// Result of a driver operation.
pub(crate) type DriverResult<T = ()> = std::result::Result<T, Fault>;

/// Names the profile row that the device time of an operation is added to; 0 is not timed.
pub(crate) type Tag = u32;

/// A point on the device's time line, see [`Driver::mark`].
pub(crate) enum Mark {
    Wall(std::time::Instant),
    /// An event (CUDA) or the number of a submission (Metal).
    Event(usize),
}

/// A device and its queues.
///
/// Operations take effect as if they ran in the order of the calls; those that use different memory may overlap. The
/// caller guarantees that spans lie in live
/// segments of this driver and that no other operation races with a host access.
pub(crate) trait Driver: Send + Sync {
    fn info(&self) -> &DeviceInfo;

    /// Bytes that may be live at a time: the budget, unless that is one of a device with more memory.
    fn allowance(&self) -> u64 {
        self.info().profile.budget
    }

    /// Prepares kernels made at run time from `code`; each description stays valid until `unload`. The CPU's
    /// descriptions hold their code themselves.
    fn load(&self, unit: &str, code: Option<&str>, kernels: &[&'static KernelSpec]) -> Result<()>;

    /// Forgets kernels that were given to `load` after everything encoded so far has finished.
    fn unload(&self, kernels: &[&KernelSpec], limit: Duration);

    /// Fresh memory, at least 256-byte aligned, contents undefined.
    fn allocate(&self, bytes: u64) -> DriverResult<Segment>;

    /// Gives a segment back; work encoded before the call may still use it.
    fn release(&self, segment: Segment);

    /// The grid as this device runs it: threadgroups of a grid given in threads may have to be smaller.
    fn shape(&self, _: &'static KernelSpec, shape: Shape) -> DriverResult<Shape> {
        Ok(shape)
    }

    /// Whether the kernel can run in slices: whether its positions count from the start of the whole grid.
    fn can_cut(&self, kernel: &'static KernelSpec) -> bool;

    fn dispatch(&self, dispatch: &Dispatch, tag: Tag) -> DriverResult;

    fn fill(&self, dst: Span, byte: u8, work: Work, tag: Tag) -> DriverResult;

    fn copy(&self, src: Span, dst: Span, work: Work, tag: Tag) -> DriverResult;

    /// Writes host data in queue order. `fresh`: no work that is still running uses `dst`, so a
    /// unified device may write at once.
    fn upload(&self, dst: Span, data: &[u8], fresh: bool, tag: Tag) -> DriverResult;

    /// Reads after everything encoded so far has finished; waits at most `limit`.
    fn download(&self, src: Span, out: &mut [u8], limit: Duration, tag: Tag) -> DriverResult;

    /// Hands what is encoded to the device.
    fn submit(&self) -> DriverResult;

    /// Submits and waits for everything, at most `limit`.
    fn wait(&self, limit: Duration) -> DriverResult;

    /// The newest submission that may use what was encoded so far, be it handed over or not.
    fn epoch(&self) -> u64 {
        0
    }

    /// The newest submission that is known to have finished.
    fn completed(&self) -> u64 {
        0
    }

    /// A mark after everything encoded so far.
    fn mark(&self, limit: Duration) -> DriverResult<Mark>;

    /// Device time between two marks; waits for the second.
    fn between(&self, start: Mark, end: Mark, limit: Duration) -> DriverResult<Duration>;

    /// Device times of tagged operations that have finished, in nanoseconds, and forgets them.
    fn take_timings(&self) -> Vec<(Tag, u64)>;

    /// What submissions that have ended held, and the nanoseconds that they took; forgets them. Empty where
    /// a dispatch ends before the call does.
    fn take_measured(&self) -> Vec<(Vec<Work>, u64)> {
        Vec::new()
    }

    /// What became of the kernels of the libraries; waits for those that are still compiled.
    fn report(&self) -> &KernelReport;

    /// Nothing is still compiled.
    fn is_loaded(&self) -> bool {
        true
    }

    /// What the device allows a kernel, of a library or loaded.
    fn limits(&self, kernel: &'static KernelSpec) -> Result<KernelLimits>;

    /// What only this device shows, for reports.
    fn diagnostics(&self) -> Vec<Diagnostic> {
        Vec::new()
    }
}

/// What a driver needs to open.
#[derive(Clone, Copy)]
pub(crate) struct OpenOptions<'a> {
    pub libraries: &'a [&'static KernelLibrary],
    /// Bytes the context allows itself; the device's own limit if absent.
    pub budget: Option<u64>,
    pub order: Order,
    /// The profile that the CPU takes in place of its own.
    pub profile: Option<&'a DeviceProfile>,
}

/// Opens the driver of a device and prepares every kernel of the libraries. One that cannot run is in the report
/// and is an error where it is used.
pub(crate) fn open(device: Device, options: OpenOptions) -> Result<Box<dyn Driver>> {
    if let (Order::Shuffled(seed), Device::Cpu | Device::CpuConformance) = (options.order, device) {
        let conformance = device == Device::CpuConformance;
        return shuffled::ShuffledDriver::open(options, conformance, seed);
    }
    if let (Order::Shuffled(seed), Device::Metal | Device::Cuda(_)) = (options.order, device) {
        return Err(MetalError::InvalidSetting {
            variable: ORDER_VARIABLE,
            value: format!("shuffled-{seed}"),
            expected: "serial or concurrent on a GPU",
        });
    }
    let with_its_own = |device: DeviceKind| match options.profile {
        Some(profile) => Err(MetalError::ProfileRefused {
            device,
            profile: profile.name,
        }),
        None => Ok(()),
    };
    match device {
        Device::Auto => open_first(options),
        Device::Metal => with_its_own(DeviceKind::Metal).and_then(|()| open_metal(options)),
        Device::Cuda(number) => {
            with_its_own(DeviceKind::Cuda).and_then(|()| open_cuda(number, options))
        }
        Device::Cpu => cpu::CpuDriver::open(options, false),
        Device::CpuConformance => cpu::CpuDriver::open(options, true),
    }
}

fn open_first(options: OpenOptions) -> Result<Box<dyn Driver>> {
    for device in [Device::Metal, Device::Cuda(0)] {
        match open(device, options) {
            Ok(driver) => return Ok(driver),
            Err(MetalError::DeviceUnavailable { device, reason }) => {
                tracing::info!(%device, %reason, "device skipped");
            }
            Err(MetalError::ProfileRefused { device, profile }) => {
                tracing::info!(%device, profile, "device skipped: only the CPU takes a profile");
            }
            // A device that is present but does not open is a fault to report, not to hide.
            Err(error) => return Err(error),
        }
    }
    open(Device::Cpu, options)
}

/// What is known about a device, without preparing kernels. Metal tells where it would take those of the
/// libraries from.
pub(crate) fn probe(device: Device, libraries: &[&'static KernelLibrary]) -> Result<DeviceInfo> {
    let budget = crate::memory::budget_from_env()?;
    if device == Device::Metal {
        return probe_metal(libraries, budget);
    }
    open(
        device,
        OpenOptions {
            libraries: &[],
            budget,
            order: Order::Serial,
            profile: None,
        },
    )
    .map(|driver| driver.info().clone())
}

#[cfg(target_vendor = "apple")]
fn open_metal(options: OpenOptions) -> Result<Box<dyn Driver>> {
    metal::MetalDriver::open(options)
}

#[cfg(target_vendor = "apple")]
use metal::probe as probe_metal;

#[cfg(not(target_vendor = "apple"))]
fn open_metal(options: OpenOptions) -> Result<Box<dyn Driver>> {
    probe_metal(options.libraries, options.budget)
}

#[cfg(not(target_vendor = "apple"))]
fn probe_metal<T>(_: &[&'static KernelLibrary], _: Option<u64>) -> Result<T> {
    Err(MetalError::DeviceUnavailable {
        device: DeviceKind::Metal,
        reason: "Metal exists on Apple systems only".into(),
    })
}

#[cfg(not(target_vendor = "apple"))]
fn open_cuda(number: u32, options: OpenOptions) -> Result<Box<dyn Driver>> {
    cuda::CudaDriver::open(number, options)
}

#[cfg(not(target_vendor = "apple"))]
pub(crate) use cuda::device_count as cuda_devices;

/// NVIDIA GPUs that the driver shows.
#[cfg(target_vendor = "apple")]
pub(crate) fn cuda_devices() -> u32 {
    0
}

#[cfg(target_vendor = "apple")]
fn open_cuda(_: u32, _: OpenOptions) -> Result<Box<dyn Driver>> {
    Err(MetalError::DeviceUnavailable {
        device: DeviceKind::Cuda,
        reason: "CUDA does not exist on Apple systems".into(),
    })
}
