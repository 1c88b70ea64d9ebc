//! The devices of this machine.

use serde::Serialize;

use crate::device::{Device, DeviceInfo};
use crate::device_kind::DeviceKind;
use crate::driver;
use crate::error::MetalError;
use crate::kernel::KernelLibrary;
use crate::memory::budget_from_env;

/// Physical memory of this machine, or what the control group or a resource limit allows of it, in bytes.
pub fn host_memory() -> u64 {
    driver::cpu::memory_bytes()
}

/// A device that was looked for: what was found, or why it is missing.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceReport {
    pub kind: DeviceKind,
    /// The request that opens this device.
    pub device: Device,
    /// Present if the device can be used.
    pub info: Option<DeviceInfo>,
    /// Present if it cannot.
    pub missing: Option<String>,
    /// The device that `Auto` picks.
    pub default: bool,
}

/// Every device, and every kind of which there is none, in the order in which `Auto` tries them.
pub fn devices() -> Vec<DeviceReport> {
    devices_for(&[])
}

/// Does the work of [`devices`]; the detail of a Metal device tells whether the kernels of these libraries would come from
/// the program or be compiled from source.
pub fn devices_for(libraries: &[&'static KernelLibrary]) -> Vec<DeviceReport> {
    // Without a GPU the first is asked for all the same: it tells why there is none.
    let gpus = (0..driver::cuda_devices().max(1)).map(|n| (DeviceKind::Cuda, Device::Cuda(n)));
    let mut reports: Vec<DeviceReport> = std::iter::once((DeviceKind::Metal, Device::Metal))
        .chain(gpus)
        .chain([(DeviceKind::Cpu, Device::Cpu)])
        .map(|(kind, device)| {
            let (info, missing) = match budget_from_env()
                .and_then(|budget| driver::probe(device, libraries, budget))
            {
                Ok(info) => (Some(info), None),
                Err(MetalError::DeviceUnavailable { reason, .. }) => (None, Some(reason)),
                Err(other) => (None, Some(other.to_string())),
            };
            DeviceReport {
                kind,
                device,
                info,
                missing,
                default: false,
            }
        })
        .collect();
    if let Some(first) = reports.iter_mut().find(|r| r.info.is_some()) {
        first.default = true;
    }
    reports
}
