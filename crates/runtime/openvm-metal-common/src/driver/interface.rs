//! The small interface between the run time and a device.

use std::time::Duration;

use super::units::UnitChoice;
use crate::clause::Values;
use crate::device::DeviceInfo;
use crate::device_profile::DeviceProfile;
use crate::diagnostic::Diagnostic;
use crate::error::{MetalError, Result};
use crate::grid::Shape;
use crate::kernel::{ArgKind, KernelLibrary, KernelSpec, MAX_BUFFERS, MAX_THREADGROUP_ARGS};
use crate::memory::{Segment, Span};
use crate::order::{Access, Order};
use crate::plan::{Slice, Work};
use crate::report::{KernelLimits, KernelReport};

/// Environment variable with the file of a trace, which must not exist yet and ends in `.gputrace`.
pub(crate) const CAPTURE_VARIABLE: &str = "OPENVM_METAL_CAPTURE";

/// A slice of a validated dispatch.
pub(crate) struct Dispatch<'a> {
    pub kernel: &'static KernelSpec,
    /// The whole grid.
    pub shape: Shape,
    /// The part of the dispatch to run now.
    pub slice: Slice,
    /// Work that is expected of the slice.
    pub work: Work,
    /// By `[[buffer(n)]]` index.
    pub buffers: &'a [Option<Span>; MAX_BUFFERS],
    /// By `[[buffer(n)]]` index: bytes of `constant T&` arguments.
    pub values: &'a Values<'a>,
    /// Bytes by `[[threadgroup(n)]]` index.
    pub threadgroup_bytes: &'a [u32; MAX_THREADGROUP_ARGS],
    /// Memory that the kernel reads and writes besides its buffers.
    pub reached: &'a [Span],
}

impl Dispatch<'_> {
    /// The memory that the kernel is given, or reaches otherwise.
    pub fn accesses(&self) -> impl Iterator<Item = Access> + Clone + '_ {
        let given = self.kernel.args.iter().filter_map(|arg| {
            let writes = match arg.kind {
                ArgKind::BufferRead { .. } => false,
                ArgKind::BufferWrite { .. } => true,
                ArgKind::Value { .. } | ArgKind::Threadgroup { .. } => return None,
            };
            let span = self.buffers.get(arg.index as usize)?.as_ref()?;
            (span.bytes > 0).then(|| Access::of(span, writes))
        });
        let reached = self.reached.iter().filter(|span| span.bytes > 0);
        given.chain(reached.map(Access::write))
    }
}

/// Faults that a driver reports; the context adds stage and kernels.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    /// The device is gone for good.
    Lost(String),
    /// A submission did not complete correctly.
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

/// A copy to the host: `out` is no longer than `src`.
pub(crate) struct Read<'a> {
    pub src: Span,
    pub out: &'a mut [u8],
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

    /// Memory of the host that kernels reach while they run, zeroed or not; `None` where the device's own is the host's.
    fn pin(&self, _: u64) -> DriverResult<Option<Segment>> {
        Ok(None)
    }

    /// Gives back what `pin` gave; no kernel may use it any more.
    fn unpin(&self, _: Segment) {}

    /// The grid as this device runs it: threadgroups of a grid given in threads may have to be smaller.
    fn shape(&self, _: &'static KernelSpec, shape: Shape) -> DriverResult<Shape> {
        Ok(shape)
    }

    /// True if the kernel can run in slices: its positions count from the start of the whole grid.
    fn can_cut(&self, kernel: &'static KernelSpec) -> bool;

    fn dispatch(&self, dispatch: &Dispatch, tag: Tag) -> DriverResult;

    fn fill(&self, dst: Span, byte: u8, work: Work, tag: Tag) -> DriverResult;

    fn copy(&self, src: Span, dst: Span, work: Work, tag: Tag) -> DriverResult;

    /// Writes host data in queue order. `fresh`: no work that is still running uses `dst`, so a
    /// unified device may write at once.
    fn upload(&self, dst: Span, data: &[u8], fresh: bool, tag: Tag) -> DriverResult;

    /// Reads after everything encoded so far has finished; waits at most `limit`.
    fn download(&self, src: Span, out: &mut [u8], limit: Duration, tag: Tag) -> DriverResult;

    /// Several reads, as [`Driver::download`].
    fn download_many(&self, reads: &mut [Read<'_>], limit: Duration, tag: Tag) -> DriverResult {
        for read in reads {
            self.download(read.src, read.out, limit, tag)?;
        }
        Ok(())
    }

    /// Hands what is encoded to the device.
    fn submit(&self) -> DriverResult;

    /// Submits and waits for everything, at most `limit`.
    fn wait(&self, limit: Duration) -> DriverResult;

    /// The newest submission that may use what is encoded, submitted or not.
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

    /// Contents and nanoseconds of submissions that have ended; forgets them. Empty where
    /// a dispatch ends before the call does.
    fn take_measured(&self) -> Vec<(Vec<Work>, u64)> {
        Vec::new()
    }

    /// Results of the libraries' kernels; waits for those that are still compiled.
    fn report(&self) -> &KernelReport;

    /// Nothing is still compiled.
    fn is_loaded(&self) -> bool {
        true
    }

    /// The device's limits for a kernel, of a library or loaded.
    fn limits(&self, kernel: &'static KernelSpec) -> Result<KernelLimits>;

    /// Entries that only this device has, for reports.
    fn diagnostics(&self) -> Vec<Diagnostic> {
        Vec::new()
    }
}

/// Options for opening a driver.
#[derive(Clone, Copy)]
pub(crate) struct OpenOptions<'a> {
    pub libraries: &'a [&'static KernelLibrary],
    /// Bytes the context allows itself; the device's own limit if absent.
    pub budget: Option<u64>,
    pub order: Order,
    /// The units of the libraries that are prepared.
    pub units: &'a UnitChoice,
    /// The profile that the CPU takes in place of its own.
    pub profile: Option<&'a DeviceProfile>,
}
