//! The `--device` option and contexts for it.

use clap::Args;
use openvm_metal_backend::kernels::LIBRARY;
use openvm_metal_common::{Device, MetalContext};

use crate::error::{CliError, Result};

/// The device a command runs on. The option stands before or after the command's name.
#[derive(Args, Clone, Debug)]
pub struct DeviceArgs {
    /// auto, metal, cuda, cuda:1 and so on, cpu or cpu-conformance; OPENVM_METAL_DEVICE if absent.
    #[arg(long, value_name = "DEVICE")]
    device: Option<Device>,
}

impl DeviceArgs {
    /// The device that was asked for.
    ///
    /// # Errors
    /// If the environment names an unknown one.
    pub fn device(&self) -> Result<Device> {
        match self.device {
            Some(device) => Ok(device),
            None => Ok(Device::from_env()?),
        }
    }

    /// Takes what stood before the command's name.
    ///
    /// # Errors
    /// If another device stands after it.
    pub fn take(&mut self, before: &Self) -> Result<()> {
        match (self.device, before.device) {
            (Some(after), Some(before)) if after != before => {
                Err(CliError::Usage("two different devices are given"))
            }
            (after, before) => {
                self.device = after.or(before);
                Ok(())
            }
        }
    }

    /// True if the command line names a device.
    pub fn is_given(&self) -> bool {
        self.device.is_some()
    }

    /// Opens the device with all kernels of the prover compiled.
    ///
    /// # Errors
    /// If the device is unknown, not available, or refuses a kernel.
    pub fn context(&self) -> Result<MetalContext> {
        Ok(MetalContext::new(self.device()?, &[&LIBRARY])?)
    }
}
