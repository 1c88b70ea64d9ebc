//! Opening what runs programs.

use clap::ValueEnum;
use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::{Fallback, MetalBackend};
use hologram_backends::native::NativeBackend;
use hologram_backends::{Backend, Result};
use openvm_metal_common::Device;

/// A backend that runs programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BackendName {
    /// An Apple GPU, else an NVIDIA GPU, else the processor.
    Auto,
    /// Fused kernels on an Apple GPU.
    Metal,
    /// Fused kernels on an NVIDIA GPU.
    Cuda,
    /// The processor: fused kernels, compiled by the C++ compiler, and the interpreter for what no kernel can run.
    Cpu,
    /// The interpreter.
    Interpreter,
    /// Fused kernels on the processor and nothing else, as on a GPU.
    CpuKernels,
}

impl BackendName {
    /// Opens it, with a policy for what devices cannot run; gives its name for people too.
    ///
    /// # Errors
    /// A device that is not there.
    pub fn open(self, fallback: Fallback) -> Result<(Box<dyn Backend>, String)> {
        let device = match self {
            Self::Metal => Device::Metal,
            Self::Cuda => Device::Cuda(0),
            Self::CpuKernels => Device::Cpu,
            Self::Cpu => return Ok((Box::new(NativeBackend::new()), "the processor".to_owned())),
            Self::Interpreter => {
                return Ok((Box::new(CpuBackend::new()), "the interpreter".to_owned()))
            }
            Self::Auto => {
                return Self::Metal
                    .open(fallback)
                    .or_else(|_| Self::Cuda.open(fallback))
                    .or_else(|_| Self::Cpu.open(fallback));
            }
        };
        let backend = MetalBackend::new(device)?.with_fallback(fallback);
        let info = backend.context().info();
        let name = format!("{} ({})", info.kind, info.name);
        Ok((Box::new(backend), name))
    }
}
