//! The `--device` option and contexts for it.

use clap::Args;
use openvm_metal_backend::kernels::LIBRARY;
use openvm_metal_common::{Device, MetalContext};

use crate::error::Result;

/// The device of a command. The option stands before or after the command's name; the one after it counts.
#[derive(Args, Clone, Copy, Debug)]
pub struct DeviceArgs {
    /// Use this device: auto, metal, cuda, cuda:1 and so on, cpu or cpu-conformance [default: OPENVM_METAL_DEVICE, else auto].
    #[arg(long, value_name = "DEVICE", global = true)]
    device: Option<Device>,
}

impl DeviceArgs {
    /// The device that the user chose.
    ///
    /// # Errors
    /// An unknown device in the environment.
    pub fn device(self) -> Result<Device> {
        match self.device {
            Some(device) => Ok(device),
            None => Ok(Device::from_env()?),
        }
    }

    /// True if the command line names a device.
    pub fn is_given(self) -> bool {
        self.device.is_some()
    }

    /// Opens the device with all kernels of the prover compiled.
    ///
    /// # Errors
    /// An unknown device, a device that is not available, or one that refuses a kernel.
    pub fn context(self) -> Result<MetalContext> {
        Ok(MetalContext::new(self.device()?, &[&LIBRARY])?)
    }
}
