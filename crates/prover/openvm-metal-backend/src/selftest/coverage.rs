//! Kernels that the checks ran.

use openvm_metal_common::{MetalContext, MetalError};
use serde::Serialize;

use crate::kernels::LIBRARY;

/// Kernels of the library that ran on a context while it was [profiled](MetalContext::set_profiling).
#[derive(Clone, Debug, Serialize)]
pub struct Coverage {
    /// Kernels of the library, but for units that are left out on such a device.
    pub kernels: usize,
    /// Number of kernels that ran.
    pub run: usize,
    /// The names of the others.
    pub never_run: Vec<&'static str>,
}

impl Coverage {
    /// Reads the profile of a context.
    ///
    /// # Errors
    /// If the device failed.
    pub fn of(context: &MetalContext) -> Result<Self, MetalError> {
        let profile = context.profile()?;
        let all = LIBRARY
            .units
            .iter()
            .filter(|unit| unit.prepared.leaves_out(context.device_profile()).is_none())
            .flat_map(|unit| unit.kernels)
            .map(|kernel| kernel.name);
        let (run, never_run): (Vec<_>, Vec<_>) =
            all.partition(|name| profile.rows.iter().any(|row| row.name == *name));
        Ok(Self {
            kernels: run.len() + never_run.len(),
            run: run.len(),
            never_run,
        })
    }
}
