//! Statistics of a backend.

use std::time::Duration;

/// Counters of a [`MetalBackend`](super::MetalBackend) since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MetalStats {
    /// Programs launched on the device.
    pub launches: u64,
    /// Programs and whole-buffer operations that the interpreter ran, as [`Fallback`](super::Fallback) allows.
    pub interpreted: u64,
    /// Whole-buffer operations and sorts launched on the device, those of programs too.
    pub intrinsics: u64,
    /// Programs of whole-buffer instructions whose scalars the host computed; they are no launches.
    pub operation_programs: u64,
    /// Programs of one lane that ran with many, because their repetitions are independent or fold to values.
    pub rerolled: u64,
    /// Programs among these whose repetitions were folded by a tree; each has two launches.
    pub reduced: u64,
    /// Programs whose accesses were not tested, because all lie inside their buffers: vector code of the processor.
    pub in_bounds: u64,
    /// Expressions, of one launch or more.
    pub expressions: u64,
    /// Programs that were ready.
    pub pipeline_hits: u64,
    /// New programs of a known shape.
    pub kernel_hits: u64,
    /// Calls of the compiler.
    pub units_compiled: u64,
    /// Kernels that they compiled.
    pub kernels_compiled: u64,
    /// Time that compiling and loading took.
    pub compile_time: Duration,
    /// Programs that ended with a fault.
    pub faults: u64,
}
