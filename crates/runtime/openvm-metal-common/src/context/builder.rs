//! Options of a context.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

use super::{Inner, MetalContext};
use crate::device::Device;
use crate::device_profile::DeviceProfile;
use crate::driver::{OpenOptions, UnitChoice};
use crate::error::Result;
use crate::kernel::{KernelLibrary, KernelUnit};
use crate::lock;
use crate::memory::budget_from_env;
use crate::order::Order;

/// Options of a context; made by [`MetalContext::builder`]. An option that is not given is taken from the
/// environment, else from the device.
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before `open`"]
pub struct ContextBuilder<'a> {
    device: Device,
    libraries: &'a [&'static KernelLibrary],
    budget: Option<Option<u64>>,
    profile: Option<DeviceProfile>,
    order: Option<Order>,
    only: Option<&'static KernelUnit>,
}

impl<'a> ContextBuilder<'a> {
    fn new(device: Device) -> Self {
        Self {
            device,
            libraries: &[],
            budget: None,
            profile: None,
            order: None,
            only: None,
        }
    }

    /// The kernels to prepare.
    pub fn libraries(self, libraries: &'a [&'static KernelLibrary]) -> Self {
        Self { libraries, ..self }
    }

    /// Bytes of memory that the context allows itself; `None`: the profile's, whatever
    /// `OPENVM_METAL_MEMORY_BUDGET` says.
    pub fn budget(self, bytes: Option<u64>) -> Self {
        let budget = Some(bytes);
        Self { budget, ..self }
    }

    /// Plans as a device with this profile would, on the CPU device.
    pub fn profile(self, profile: DeviceProfile) -> Self {
        let profile = Some(profile);
        Self { profile, ..self }
    }

    /// The order of operations instead of that of `OPENVM_METAL_ORDER`.
    pub fn order(self, order: Order) -> Self {
        let order = Some(order);
        Self { order, ..self }
    }

    /// Prepares one unit of the libraries and leaves the others out, to see how a device takes it.
    pub fn only(self, unit: &'static KernelUnit) -> Self {
        let only = Some(unit);
        Self { only, ..self }
    }

    /// Opens the device and prepares every kernel, but for units that `OPENVM_METAL_LEAVE_OUT` names and those that are
    /// not [for this device](crate::kernel::Prepare). With a profile, [`Device::Auto`] is the CPU.
    ///
    /// # Errors
    /// Those of [`MetalContext::new`];
    /// [`MetalError::ProfileRefused`](crate::MetalError::ProfileRefused) for a profile for a GPU,
    /// [`MetalError::UnknownDeviceProfile`](crate::MetalError::UnknownDeviceProfile) for one in
    /// `OPENVM_METAL_DEVICE_PROFILE` that does not exist.
    pub fn open(self) -> Result<MetalContext> {
        let budget = match self.budget {
            Some(budget) => budget,
            None => budget_from_env()?,
        };
        let profile = match self.profile {
            Some(profile) => Some(profile),
            None => DeviceProfile::from_env()?,
        };
        let order = match self.order {
            Some(order) => order,
            None => Order::from_env()?,
        };
        let units = UnitChoice::from_env(self.only);
        let options = OpenOptions {
            libraries: self.libraries,
            budget,
            order,
            units: &units,
            profile: profile.as_ref(),
        };
        Ok(MetalContext {
            inner: Arc::new(Inner::open(self.device, options)?),
        })
    }
}

impl MetalContext {
    /// Opens a device and prepares every kernel of the libraries on it. The choice is logged once at info
    /// level.
    ///
    /// A unit that the device's compiler refuses takes nothing else with it: it is logged, it is in
    /// [`MetalContext::kernel_report`], and its kernels are [`MetalError::KernelMissing`](crate::MetalError::KernelMissing) where they are used or
    /// [required](MetalContext::require).
    ///
    /// # Errors
    /// [`MetalError::DeviceUnavailable`](crate::MetalError::DeviceUnavailable) if the device cannot be used (never another one in its
    /// place), [`MetalError::InvalidSetting`](crate::MetalError::InvalidSetting) for an environment variable that cannot be understood.
    pub fn new(device: Device, libraries: &[&'static KernelLibrary]) -> Result<Self> {
        Self::builder(device).libraries(libraries).open()
    }

    /// Does the work of [`MetalContext::new`] with a memory budget in bytes instead of the device's own.
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

    /// Does the work of [`MetalContext::new`] with an order of operations instead of that of `OPENVM_METAL_ORDER`.
    ///
    /// # Errors
    /// As of [`MetalContext::new`]; [`MetalError::InvalidSetting`](crate::MetalError::InvalidSetting) for an order that the device has not.
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

    /// Options for opening a device.
    pub fn builder<'a>(device: Device) -> ContextBuilder<'a> {
        ContextBuilder::new(device)
    }

    /// The process-wide context for the device in `OPENVM_METAL_DEVICE` and these libraries, opened
    /// at the first call and kept.
    pub fn shared(libraries: &[&'static KernelLibrary]) -> Result<Self> {
        Self::shared_on(Device::from_env()?, libraries)
    }

    /// Does the work of [`MetalContext::shared`] for a given device.
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
        if let Some(context) = contexts.0.get(&key).filter(|c| c.inner.alive().is_ok()) {
            return Ok(context.clone());
        }
        let context = Self::new(device, libraries)?;
        contexts.0.insert(key, context.clone());
        Ok(context)
    }
}
