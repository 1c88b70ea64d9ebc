//! State that all handles of a context share.

use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use super::faults::InjectedFaults;
use super::waits::WaitLimit;
use crate::device::Device;
use crate::device_kind::DeviceKind;
use crate::device_profile::DeviceProfile;
use crate::driver::{self, Driver, DriverResult, Fault, OpenOptions, CAPTURE_VARIABLE};
use crate::error::{MetalError, RecentKernels, Result};
use crate::lock;
use crate::memory::Pool;
use crate::order::Order;
use crate::plan::{self, Cutter, DeviceRate, KernelKey, Planner, Step, Work};
use crate::profile::Profile;
use crate::stage::current_stage;

/// Environment variable with the longest wait in seconds.
pub(crate) const WAIT_VARIABLE: &str = "OPENVM_METAL_WAIT_TIMEOUT";
const DEFAULT_WAIT: Duration = Duration::from_secs(60);
/// Kernels named in the message of a failed submission.
const RECENT_KERNELS: usize = 6;

/// Modelled time of a dispatch above which measurements are fetched before it.
const LONG_DISPATCH_NS: f64 = 1e6;

pub(crate) struct Inner {
    // Dropped first: no segment is released before the device is idle.
    pub driver: Box<dyn Driver>,
    pub pool: Mutex<Pool>,
    pub profile: Profile,
    pub planner: Mutex<Planner>,
    pub order: Order,
    /// Something is encoded that is not submitted.
    pub pending: AtomicBool,
    /// Unused segments are given back when the host writes the next large buffer.
    pub(super) trims: AtomicBool,
    pub(super) wait_limit: WaitLimit,
    recent: Mutex<Recent>,
    /// Set once by the first fatal error; every later request returns it.
    dead: OnceLock<MetalError>,
    pub(super) injected: InjectedFaults,
}

#[derive(Default)]
struct Recent {
    names: [Option<&'static str>; RECENT_KERNELS],
    next: usize,
}

impl Inner {
    /// Opens a device and prepares every kernel.
    pub fn open(device: Device, options: OpenOptions<'_>) -> Result<Self> {
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
            driver,
            pool,
            profile,
            planner,
            order,
            pending: AtomicBool::new(false),
            trims: AtomicBool::new(false),
            wait_limit: WaitLimit::new(wait_limit),
            recent: Mutex::default(),
            dead: OnceLock::new(),
            injected: InjectedFaults::default(),
        })
    }

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

    /// Sets the longest time that a wait usually may take.
    pub fn set_wait_limit(&self, limit: Duration) {
        self.wait_limit.set(limit);
    }

    /// The longest time that a wait may take now.
    pub fn wait_limit(&self) -> Duration {
        self.wait_limit.get()
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
