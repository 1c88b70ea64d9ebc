//! The kinds of devices.

use std::fmt;

/// Where an executor runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackendType {
    /// The processor.
    Cpu,
    /// An Apple GPU.
    Metal,
    /// An NVIDIA GPU.
    Cuda,
}

impl BackendType {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Cpu, Self::Metal, Self::Cuda];

    /// `cpu`, `metal` or `cuda`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Metal => "metal",
            Self::Cuda => "cuda",
        }
    }
}

impl fmt::Display for BackendType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
