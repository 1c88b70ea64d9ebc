//! A device, its kernels, its memory and its queue.

mod allocate;
mod builder;
mod faults;
mod inner;
mod waits;

use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Duration;

pub use self::builder::ContextBuilder;
pub(crate) use self::inner::Inner;
pub use self::waits::LongerWaits;
use crate::device::DeviceInfo;
use crate::device_profile::DeviceProfile;
use crate::diagnostic::Diagnostic;
use crate::error::Result;
use crate::fault::InjectedFault;
use crate::kernel::KernelSpec;
use crate::lock;
use crate::memory::MemoryStats;
use crate::order::Order;
use crate::plan::SubmissionStats;
use crate::profile::ProfileTable;
use crate::report::{KernelLimits, KernelReport};

/// One device with its kernels, memory pool and serial queue. Cheap to clone.
#[derive(Clone)]
pub struct MetalContext {
    pub(crate) inner: Arc<Inner>,
}

impl MetalContext {
    /// The device in use.
    pub fn info(&self) -> &DeviceInfo {
        self.inner.driver.info()
    }

    /// The profile that all decisions about the device depend on.
    pub fn device_profile(&self) -> &DeviceProfile {
        &self.info().profile
    }

    /// Memory held and reserved now.
    pub fn memory(&self) -> MemoryStats {
        lock(&self.inner.pool).stats()
    }

    /// Gives memory that no buffer holds back to the device.
    pub fn trim(&self) {
        self.inner.release_unused();
    }

    /// Does the work of [`MetalContext::trim`] when the next large buffer is made that the host writes, so that it lies in no piece of a segment that was another
    /// buffer's. A free block as large as the buffer, or at most an eighth larger, is used and not given back.
    pub fn trim_before_upload(&self) {
        self.inner.trims.store(true, Ordering::Relaxed);
    }

    /// Longest time that a wait may take before it becomes [`MetalError::WaitTimeout`](crate::MetalError::WaitTimeout), with what
    /// [`MetalContext::wait_longer`] adds.
    pub fn wait_limit(&self) -> Duration {
        self.inner.wait_limit()
    }

    /// Sets the longest time that a wait may take where nothing is added (also: `OPENVM_METAL_WAIT_TIMEOUT` in seconds).
    pub fn set_wait_limit(&self, limit: Duration) {
        self.inner.set_wait_limit(limit);
    }

    /// Starts or stops measuring the device time of every operation (also: `OPENVM_METAL_PROFILE=1`).
    /// Measuring costs some microseconds per dispatch.
    pub fn set_profiling(&self, on: bool) {
        self.inner.profile.set_enabled(on);
    }

    /// Device time per stage and kernel since profiling began or [`MetalContext::reset_profile`].
    /// Waits for what is encoded.
    pub fn profile(&self) -> Result<ProfileTable> {
        self.inner
            .checked(self.inner.driver.wait(self.wait_limit()))?;
        self.inner.profile.collect(self.inner.driver.take_timings());
        Ok(self.inner.profile.table(self.info()))
    }

    /// Entries for a report about this device, besides [`MetalContext::info`]: on Metal where the
    /// kernels came from, what the compiler made of them, and the longest submission.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let memory = self.memory();
        let pool = format!(
            "{} bytes live at most, {} taken from the device in {} pieces",
            memory.peak, memory.peak_reserved, memory.device_allocations
        );
        let mut all = vec![Diagnostic::new("kernels", self.kernel_report().to_string())];
        let narrow: Vec<String> = self
            .kernel_report()
            .narrow()
            .map(|(kernel, limits)| format!("{} {}", kernel.kernel, limits.threads))
            .collect();
        all.push(Diagnostic::new(
            "kernels with fewer threads per threadgroup than they declare",
            match narrow.is_empty() {
                true => "none".into(),
                false => narrow.join(", "),
            },
        ));
        all.extend(self.inner.driver.diagnostics());
        all.push(Diagnostic::new("memory", pool));
        all
    }

    /// In which order operations run.
    pub fn order(&self) -> Order {
        self.inner.order
    }

    /// Work that was handed to the device so far, with the times that were expected of it.
    pub fn submissions(&self) -> SubmissionStats {
        lock(&self.inner.planner).stats().clone()
    }

    /// Sets the longest time that a submission should take on the device; zero for no limit (also:
    /// `OPENVM_METAL_SLICE_MS`). Longer dispatches are cut into slices.
    pub fn set_longest_submission(&self, longest: Duration) {
        lock(&self.inner.planner).set_longest(longest);
    }

    /// Result for every unit and kernel of the libraries: where its code came from, warnings, errors, the
    /// threads that the device allows, and how long the start took. Waits for what the device still compiles.
    pub fn kernel_report(&self) -> &KernelReport {
        self.inner.driver.report()
    }

    /// The device's limits for a kernel: it may have fewer threads than it declares.
    ///
    /// # Errors
    /// [`MetalError::KernelMissing`](crate::MetalError::KernelMissing) if it cannot run, with the compiler's words.
    pub fn kernel_limits(&self, kernel: &'static KernelSpec) -> Result<KernelLimits> {
        self.inner.injected_refusal(kernel)?;
        self.inner.driver.limits(kernel)
    }

    /// Fails if one of these kernels cannot run, so that work which needs all of them does not begin.
    ///
    /// # Errors
    /// [`MetalError::KernelMissing`](crate::MetalError::KernelMissing) for the first, with the compiler's words.
    pub fn require(&self, kernels: impl IntoIterator<Item = &'static KernelSpec>) -> Result<()> {
        kernels
            .into_iter()
            .try_for_each(|kernel| self.kernel_limits(kernel).map(drop))
    }

    /// Forgets the measurements so far.
    pub fn reset_profile(&self) {
        self.inner.profile.collect(self.inner.driver.take_timings());
        self.inner.profile.reset();
    }

    /// Makes a later operation fail as the device would, for tests of error handling.
    #[doc(hidden)]
    pub fn inject_fault(&self, fault: InjectedFault) {
        self.inner.inject(fault);
    }

    /// True if both are the same context.
    pub fn same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl fmt::Debug for MetalContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetalContext")
            .field("device", &self.info().name)
            .finish_non_exhaustive()
    }
}
