//! Running translated programs on Metal, CUDA and CPU devices of `openvm-metal-common`.

mod adopted;
mod apart;
mod arena;
mod backend;
mod compile_time;
mod effort;
mod expressions;
mod fallback;
mod host;
mod in_bounds;
mod intrinsic;
mod kept;
mod launch;
mod memory;
mod operations;
mod pending;
pub(crate) mod pipeline;
mod rerolled;
mod sort;
mod stats;
mod store;
mod submit;
pub(crate) mod unit;
mod watched;

pub use backend::MetalBackend;
pub use compile_time::compile_seconds;
pub use effort::Effort;
pub use fallback::{Fallback, UnknownFallback};
pub use hologram_kernels::device::LIBRARY;
pub use stats::MetalStats;
pub use unit::UnitCompiler;

use openvm_metal_common::MetalError;

use crate::error::BackendError;

fn device_error(error: MetalError) -> BackendError {
    match error {
        MetalError::OutOfMemory { requested, .. } => BackendError::OutOfMemory {
            requested: usize::try_from(requested).unwrap_or(usize::MAX),
        },
        MetalError::KernelCompile { .. } | MetalError::KernelMissing { .. } => {
            BackendError::Compilation(error.to_string())
        }
        other => BackendError::Device(other.to_string()),
    }
}
