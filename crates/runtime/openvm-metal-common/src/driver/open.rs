//! The driver that a request for a device opens.

use super::interface::{Driver, OpenOptions};
use super::units::UnitChoice;
use super::{cpu, shuffled};
use crate::device::{Device, DeviceInfo};
use crate::device_kind::DeviceKind;
use crate::error::{MetalError, Result};
use crate::kernel::KernelLibrary;
use crate::order::{Order, ORDER_VARIABLE};

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

/// Facts about a device, without preparing kernels. Metal tells where it would take those of the
/// libraries from.
pub(crate) fn probe(
    device: Device,
    libraries: &[&'static KernelLibrary],
    budget: Option<u64>,
) -> Result<DeviceInfo> {
    if device == Device::Metal {
        return probe_metal(libraries, budget);
    }
    open(
        device,
        OpenOptions {
            libraries: &[],
            budget,
            order: Order::Serial,
            units: &UnitChoice::default(),
            profile: None,
        },
    )
    .map(|driver| driver.info().clone())
}

#[cfg(target_vendor = "apple")]
fn open_metal(options: OpenOptions) -> Result<Box<dyn Driver>> {
    super::metal::MetalDriver::open(options)
}

#[cfg(target_vendor = "apple")]
use super::metal::probe as probe_metal;

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
    super::cuda::CudaDriver::open(number, options)
}

#[cfg(not(target_vendor = "apple"))]
pub(crate) use super::cuda::device_count as cuda_devices;

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
