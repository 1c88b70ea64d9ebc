//! The kinds of devices.

use std::fmt;

/// Kind of an executor's backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BackendType {
    /// The processor: programs as compiled kernels.
    Cpu,
    /// The processor: programs by the reference interpreter.
    Interpreter,
    /// An Apple GPU.
    Metal,
    /// An NVIDIA GPU.
    Cuda,
}

impl BackendType {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Cpu, Self::Interpreter, Self::Metal, Self::Cuda];

    /// `cpu`, `interpreter`, `metal` or `cuda`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Interpreter => "interpreter",
            Self::Metal => "metal",
            Self::Cuda => "cuda",
        }
    }

    /// True if programs and operations run on the host's memory, and have run when the call returns.
    pub const fn is_host(self) -> bool {
        matches!(self, Self::Cpu | Self::Interpreter)
    }
}

impl fmt::Display for BackendType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
