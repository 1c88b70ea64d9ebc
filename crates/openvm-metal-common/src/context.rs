//! A device, its kernels, its memory and its queue.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::Duration;

use crate::context_builder::ContextBuilder;
use crate::device::{Device, DeviceInfo, DeviceKind};
use crate::device_profile::DeviceProfile;
use crate::diagnostic::Diagnostic;
use crate::driver::{self, Driver, DriverResult, Fault, OpenOptions};
use crate::error::{MetalError, RecentKernels, Result};
use crate::fault::InjectedFault;
use crate::kernel::{KernelLibrary, KernelSpec};
use crate::lock;
use crate::memory::{MemoryStats, Pool};
use crate::order::Order;
use crate::plan::{self, Cutter, DeviceRate, KernelKey, Planner, Step, SubmissionStats, Work};
use crate::profile::{Profile, ProfileTable};
use crate::report::{KernelLimits, KernelReport};
use crate::stage::current_stage;
use crate::stream::CommandStream;
use crate::view::Views;

/// Environment variable with the file of a trace, which must not exist yet and ends in `.gputrace`.
pub(crate) const CAPTURE_VARIABLE: &str = "OPENVM_METAL_CAPTURE";
/// Environment variable with the longest wait in seconds.
pub(crate) const WAIT_VARIABLE: &str = "OPENVM_METAL_WAIT_TIMEOUT";
const DEFAULT_WAIT: Duration = Duration::from_secs(60);
/// Kernels named in the message of a failed submission.
const RECENT_KERNELS: usize = 6;

/// Modelled time of a dispatch above which measurements are fetched before it.
const LONG_DISPATCH_NS: f64 = 1e6;

/// One device with its kernels, memory pool and serial queue. Cheap to clone.
#[derive(Clone)]
pub struct MetalContext {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    // Dropped first: no segment is released before the device is idle.
    pub driver: Box<dyn Driver>,
    pub pool: Mutex<Pool>,
    pub profile: Profile,
    pub planner: Mutex<Planner>,
    pub order: Order,
    pub views: Views,
    /// Something is encoded that is not submitted.
    pub pending: AtomicBool,
    /// In milliseconds.
    wait_limit: AtomicU64,
    recent: Mutex<Recent>,
    /// Set once by the first fatal error; every later request returns it.
    dead: OnceLock<MetalError>,
    any_injected: AtomicBool,
    injected: Mutex<Vec<InjectedFault>>,
}

#[derive(Default)]
struct Recent {
    names: [Option<&'static str>; RECENT_KERNELS],
    next: usize,
}

impl MetalContext {
    /// Opens a device and prepares every kernel of the libraries on it. The choice is logged once at info
    /// level.
    ///
    /// A unit that the device's compiler refuses takes nothing else with it: it is logged, it is in
    /// [`MetalContext::kernel_report`], and its kernels are [`MetalError::KernelMissing`] where they are used or
    /// [required](MetalContext::require).
    ///
    /// # Errors
    /// [`MetalError::DeviceUnavailable`] if the device cannot be used (never another one in its
    /// place), [`MetalError::InvalidSetting`] for an environment variable that cannot be understood.
    pub fn new(device: Device, libraries: &[&'static KernelLibrary]) -> Result<Self> {
        Self::builder(device).libraries(libraries).open()
    }

    /// As [`MetalContext::new`] with a memory budget in bytes instead of the device's own.
    pub fn with_budget(
        device: Device,
        libraries: &[&'static KernelLibrary],
        budget: Option<u64>,
    ) -> Result<Self> {
        Self::builder(device)
            .libraries(libraries)
            .budget(budget)
            .open()
    }

    /// As [`MetalContext::new`] with an order of operations instead of that of `OPENVM_METAL_ORDER`.
    ///
    /// # Errors
    /// As of [`MetalContext::new`]; [`MetalError::InvalidSetting`] for an order that the device has not.
    pub fn with_order(
        device: Device,
        libraries: &[&'static KernelLibrary],
        order: Order,
    ) -> Result<Self> {
        Self::builder(device)
            .libraries(libraries)
            .order(order)
            .open()
    }

    /// What to open a device with.
    pub fn builder<'a>(device: Device) -> ContextBuilder<'a> {
        ContextBuilder::new(device)
    }

    pub(crate) fn open(device: Device, options: OpenOptions<'_>) -> Result<Self> {
        let wait_limit = wait_limit_from_env()?;
        let profile = Profile::from_env()?;
        let longest = plan::longest_from_env()?;
        let order = options.order;
        let driver = driver::open(device, options)?;
        tracing::info!(requested = %device, device = %driver.info(), "openvm-metal device");
        let metal = driver.info().kind == DeviceKind::Metal;
        if !metal && std::env::var_os(CAPTURE_VARIABLE).is_some() {
            tracing::warn!("{CAPTURE_VARIABLE} has no effect: only Metal writes traces");
        }
        // A device that still compiles them would have to be waited for.
        if !options.libraries.is_empty() && driver.is_loaded() {
            tracing::info!(kernels = %driver.report(), "openvm-metal kernels");
        }
        let pool = Mutex::new(Pool::new(driver.allowance()));
        let rate = device_rate(&driver.info().profile);
        // Times of this device say nothing about one that it stands in for.
        let learns = driver.info().has_own_profile();
        let planner = Mutex::new(Planner::new(rate, learns, longest));
        Ok(Self {
            inner: Arc::new(Inner {
                driver,
                pool,
                profile,
                planner,
                order,
                views: Views::default(),
                pending: AtomicBool::new(false),
                wait_limit: AtomicU64::new(wait_limit.as_millis() as u64),
                recent: Mutex::default(),
                dead: OnceLock::new(),
                any_injected: AtomicBool::new(false),
                injected: Mutex::default(),
            }),
        })
    }

    /// The process-wide context for the device in `OPENVM_METAL_DEVICE` and these libraries, opened
    /// at the first call and kept.
    pub fn shared(libraries: &[&'static KernelLibrary]) -> Result<Self> {
        Self::shared_on(Device::from_env()?, libraries)
    }

    /// As [`MetalContext::shared`] for a given device.
    pub fn shared_on(device: Device, libraries: &[&'static KernelLibrary]) -> Result<Self> {
        type Key = (Device, Vec<*const KernelLibrary>);
        struct Contexts(HashMap<Key, MetalContext>);
        // SAFETY: the pointers are compared, never followed.
        unsafe impl Send for Contexts {}
        static SHARED: OnceLock<Mutex<Contexts>> = OnceLock::new();

        let key = (
            device,
            libraries
                .iter()
                .map(|&library| std::ptr::from_ref(library))
                .collect(),
        );
        let mut contexts = lock(SHARED.get_or_init(|| Mutex::new(Contexts(HashMap::new()))));
        if let Some(context) = contexts
            .0
            .get(&key)
            .filter(|c| c.inner.dead.get().is_none())
        {
            return Ok(context.clone());
        }
        let context = Self::new(device, libraries)?;
        contexts.0.insert(key, context.clone());
        Ok(context)
    }

    /// The device in use.
    pub fn info(&self) -> &DeviceInfo {
        self.inner.driver.info()
    }

    /// What decisions about the device depend on.
    pub fn device_profile(&self) -> &DeviceProfile {
        &self.info().profile
    }

    /// A new counted handle onto the queue.
    pub fn stream(&self) -> CommandStream {
        CommandStream::new(self.clone())
    }

    /// Memory held and reserved now.
    pub fn memory(&self) -> MemoryStats {
        lock(&self.inner.pool).stats()
    }

    /// Gives memory that no buffer holds back to the device.
    pub fn trim(&self) {
        self.inner.release_unused();
    }

    /// Longest time that a wait may take before it becomes [`MetalError::WaitTimeout`].
    pub fn wait_limit(&self) -> Duration {
        self.inner.wait_limit()
    }

    /// Sets the longest time that a wait may take (also: `OPENVM_METAL_WAIT_TIMEOUT` in seconds).
    pub fn set_wait_limit(&self, limit: Duration) {
        self.inner
            .wait_limit
            .store(limit.as_millis() as u64, Ordering::Relaxed);
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

    /// What a report about this device should contain beside [`MetalContext::info`]: on Metal where the
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

    /// What was handed to the device so far, with the times that were expected of it.
    pub fn submissions(&self) -> SubmissionStats {
        lock(&self.inner.planner).stats().clone()
    }

    /// Sets the longest time that a submission should take on the device; zero for no limit (also:
    /// `OPENVM_METAL_SLICE_MS`). Longer dispatches are cut into slices.
    pub fn set_longest_submission(&self, longest: Duration) {
        lock(&self.inner.planner).set_longest(longest);
    }

    /// What became of every unit and kernel of the libraries: where its code came from, warnings, errors, the
    /// threads that the device allows, and how long the start took. Waits for what the device still compiles.
    pub fn kernel_report(&self) -> &KernelReport {
        self.inner.driver.report()
    }

    /// What the device allows a kernel: it may have fewer threads than it declares.
    ///
    /// # Errors
    /// [`MetalError::KernelMissing`] if it cannot run, with the compiler's words.
    pub fn kernel_limits(&self, kernel: &'static KernelSpec) -> Result<KernelLimits> {
        self.inner.injected_refusal(kernel)?;
        self.inner.driver.limits(kernel)
    }

    /// Fails if one of these kernels cannot run, so that work which needs all of them does not begin.
    ///
    /// # Errors
    /// [`MetalError::KernelMissing`] for the first, with the compiler's words.
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
        lock(&self.inner.injected).push(fault);
        self.inner.any_injected.store(true, Ordering::Release);
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

impl Inner {
    /// The error that ended this context, if one did.
    pub fn alive(&self) -> Result<()> {
        self.dead.get().map_or(Ok(()), |error| Err(error.clone()))
    }

    /// Turns what a driver reports into an error that names stage and kernels.
    pub fn checked<T>(&self, result: DriverResult<T>) -> Result<T> {
        self.alive()?;
        let fault = match result {
            Ok(value) => return Ok(value),
            Err(fault) => fault,
        };
        let (device, stage) = (self.driver.info().kind, current_stage());
        let kernels = lock(&self.recent).list();
        let error = match fault {
            Fault::Lost(reason) => MetalError::DeviceLost {
                device,
                stage,
                kernels,
                reason,
            },
            Fault::Failed(reason) => MetalError::SubmissionFailed {
                device,
                stage,
                kernels,
                reason,
            },
            Fault::Timeout(after) => MetalError::WaitTimeout {
                device,
                stage,
                after,
                kernels,
            },
            Fault::OutOfMemory => self.out_of_memory(0),
            Fault::Error(error) => error,
        };
        if error.is_fatal() {
            tracing::error!(%error, "the context is lost");
            let _ = self.dead.set(error.clone());
        }
        Err(error)
    }

    /// Hands what is encoded to the device.
    pub fn hand_over(&self) -> Result<()> {
        self.checked(self.driver.submit())?;
        lock(&self.planner).submitted();
        Ok(())
    }

    /// Everything encoded has ended: learns from it.
    pub fn waited(&self) {
        let measured = self.driver.take_measured();
        let mut planner = lock(&self.planner);
        planner.submitted();
        for (work, nanoseconds) in measured {
            planner.rates_mut().learn(&work, nanoseconds);
        }
    }

    /// An operation ended when its call did, after so long.
    pub fn took(&self, work: Work, nanoseconds: u64) {
        if work.kernel.is_some() {
            lock(&self.planner).rates_mut().learn(&[work], nanoseconds);
        }
    }

    /// The next slice of a dispatch, see [`Planner::next`].
    pub fn next_slice(
        &self,
        cutter: &mut Cutter,
        kernel: KernelKey,
        name: &'static str,
        each: f64,
        can_cut: bool,
    ) -> Option<Step> {
        // What earlier slices took is worth a look if there is something to cut.
        let measured = match each * cutter.left() as f64 > LONG_DISPATCH_NS {
            true => self.driver.take_measured(),
            false => Vec::new(),
        };
        let mut planner = lock(&self.planner);
        for (work, nanoseconds) in measured {
            planner.rates_mut().learn(&work, nanoseconds);
        }
        planner.next(cutter, kernel, name, each, can_cut)
    }

    /// Remembers a kernel for the message of a later failure.
    pub fn note_kernel(&self, name: &'static str) {
        let mut recent = lock(&self.recent);
        let slot = recent.next;
        recent.names[slot] = Some(name);
        recent.next = (slot + 1) % RECENT_KERNELS;
    }

    pub fn wait_limit(&self) -> Duration {
        Duration::from_millis(self.wait_limit.load(Ordering::Relaxed))
    }

    /// True, once, if an injected fault is due.
    pub fn take_injected(&self, due: impl Fn(&mut InjectedFault) -> bool) -> bool {
        if !self.any_injected.load(Ordering::Acquire) {
            return false;
        }
        let mut pending = lock(&self.injected);
        let found = pending.iter_mut().position(due);
        if let Some(index) = found {
            pending.swap_remove(index);
        }
        found.is_some()
    }

    /// Fails as a kernel does that was refused, if that was injected.
    fn injected_refusal(&self, kernel: &KernelSpec) -> Result<()> {
        if !self.any_injected.load(Ordering::Acquire) {
            return Ok(());
        }
        let names = [kernel.name, kernel.unit];
        let refused = |fault: &InjectedFault| match fault {
            InjectedFault::Refused(name) => names.contains(name),
            _ => false,
        };
        match lock(&self.injected).iter().any(refused) {
            true => {
                let device = self.driver.info().kind;
                Err(driver::kernels::missing(device, kernel, "injected"))
            }
            false => Ok(()),
        }
    }

    /// Fails as a device does that is lost in the middle of a proof, or a kernel that was refused, if that was
    /// injected.
    pub fn injected_dispatch_fault(&self, kernel: &KernelSpec) -> Result<()> {
        self.injected_refusal(kernel)?;
        let due = self.take_injected(|fault| match fault {
            InjectedFault::DeviceLost { dispatches: 0 } => true,
            InjectedFault::DeviceLost { dispatches } => {
                *dispatches -= 1;
                false
            }
            _ => false,
        });
        self.checked(if due {
            Err(Fault::Lost("injected".into()))
        } else {
            Ok(())
        })
    }

    /// Waits, unless a fault of the wait was injected.
    pub fn injected_wait_fault(
        &self,
        limit: Duration,
        wait: impl FnOnce() -> DriverResult,
    ) -> DriverResult {
        if self.take_injected(|fault| *fault == InjectedFault::SubmissionFailed) {
            return Err(Fault::Failed("injected".into()));
        }
        if self.take_injected(|fault| *fault == InjectedFault::EndlessWait) {
            // As for a submission whose completion is never signalled.
            let (signal, never) = (Condvar::new(), Mutex::new(()));
            let (guard, _) = signal
                .wait_timeout_while(lock(&never), limit, |()| true)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            drop(guard);
            return Err(Fault::Timeout(limit));
        }
        wait()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Whatever still runs uses the segments; a device that is lost or stuck keeps its memory.
        if self.dead.get().is_none() && self.driver.wait(self.wait_limit()).is_ok() {
            self.release_unused();
        }
    }
}

impl Recent {
    fn list(&self) -> RecentKernels {
        let (newer, older) = self.names.split_at(self.next);
        RecentKernels(older.iter().chain(newer).flatten().copied().collect())
    }
}

/// Modelled rates of a device.
fn device_rate(profile: &DeviceProfile) -> DeviceRate {
    DeviceRate {
        products_per_second: profile.products_per_second as f64,
        bytes_per_second: profile.bytes_per_second as f64,
    }
}

fn wait_limit_from_env() -> Result<Duration> {
    let Ok(value) = std::env::var(WAIT_VARIABLE) else {
        return Ok(DEFAULT_WAIT);
    };
    match value.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e6 => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(MetalError::InvalidSetting {
            variable: WAIT_VARIABLE,
            value,
            expected: "a number of seconds above 0",
        }),
    }
}
