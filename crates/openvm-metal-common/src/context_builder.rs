//! What a context is opened with.

use crate::context::MetalContext;
use crate::device::Device;
use crate::device_profile::DeviceProfile;
use crate::driver::OpenOptions;
use crate::error::Result;
use crate::kernel::KernelLibrary;
use crate::memory::budget_from_env;
use crate::order::Order;

/// What a context is opened with; made by [`MetalContext::builder`]. What is not given is taken from the
/// environment, else from the device.
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before `open`"]
pub struct ContextBuilder<'a> {
    device: Device,
    libraries: &'a [&'static KernelLibrary],
    budget: Option<Option<u64>>,
    profile: Option<DeviceProfile>,
    order: Option<Order>,
}

impl<'a> ContextBuilder<'a> {
    pub(crate) fn new(device: Device) -> Self {
        Self {
            device,
            libraries: &[],
            budget: None,
            profile: None,
            order: None,
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

    /// Opens the device and prepares every kernel. With a profile, [`Device::Auto`] is the CPU.
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
        let options = OpenOptions {
            libraries: self.libraries,
            budget,
            order,
            profile: profile.as_ref(),
        };
        MetalContext::open(self.device, options)
    }
}
