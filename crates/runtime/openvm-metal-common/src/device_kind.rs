//! The three drivers.

use std::fmt;

use serde::Serialize;

/// The driver behind a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// An Apple GPU through Metal.
    Metal,
    /// An NVIDIA GPU through the CUDA driver API.
    Cuda,
    /// The processor, running the kernels as native code.
    Cpu,
}

impl DeviceKind {
    /// The name used in `OPENVM_METAL_DEVICE` and in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Metal => "metal",
            Self::Cuda => "cuda",
            Self::Cpu => "cpu",
        }
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
