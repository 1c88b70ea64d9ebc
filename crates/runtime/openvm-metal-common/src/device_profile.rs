//! Everything about a device that a decision may depend on, as data.

use std::fmt;

use serde::Serialize;

use crate::memory::rounded;

/// True if this processor can flush subnormals as Apple GPUs do.
pub(crate) const CAN_FLUSH: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// Threads in flight on an Apple core while they need at most 104 half-registers.
pub(crate) const APPLE_THREADS_PER_CORE: u32 = 1024;

/// The way in which a device executes the threads of a dispatch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Execution {
    /// A few cores, each with a few threads at a time: a small dispatch costs little, and results that fit
    /// the cache are read back from it by the next dispatch.
    MultiCore,
    /// Many cores with thousands of threads at a time, which hide each other's latency: small dispatches
    /// leave the device idle, and results go through memory.
    ManyCore,
}

/// Everything about a device that a decision may depend on.
///
/// A driver makes it from the device that it finds. The CPU device can be given the profile of another device
/// ([`ContextBuilder::profile`](crate::ContextBuilder::profile), `OPENVM_METAL_DEVICE_PROFILE`) and then plans
/// as that one would. Sizes are bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeviceProfile {
    /// `m1-8gb` and others of [`DeviceProfile::names`], or `metal`, `cuda`, `cpu` for the device at hand.
    pub name: &'static str,
    /// The way in which dispatches are executed.
    pub execution: Execution,
    /// GPU cores, multiprocessors or processor threads.
    pub cores: u32,
    /// Kernel threads that a core has in flight at a time if they need few registers.
    pub threads_per_core: u32,
    /// Threads per simdgroup as kernels see it. On the CPU device always that of its own kernels.
    pub simd_width: u32,
    /// Most threads in one threadgroup.
    pub max_threads_per_threadgroup: u32,
    /// Most threadgroup memory of one threadgroup. What runs on every device needs at most 32 KiB, which is what Apple GPUs
    /// have, and the processor in its own profile, so that nobody takes more unawares.
    pub max_threadgroup_memory: u32,
    /// Memory that the device addresses.
    pub memory: u64,
    /// Bytes that it can use at once without degrading (Apple: `recommendedMaxWorkingSetSize`).
    pub working_set: u64,
    /// Bytes that this context allows itself: the working set, and of a processor no more than three quarters of what is free when it is opened,
    /// unless `OPENVM_METAL_MEMORY_BUDGET` says otherwise.
    pub budget: u64,
    /// Largest single allocation (Apple: `maxBufferLength`).
    pub max_buffer: u64,
    /// Host and device share one memory, so the host reads and writes without a copy.
    pub unified: bool,
    /// A kernel that has an address reaches the memory there, whatever it was given: processors, NVIDIA GPUs, and Apple GPUs but for
    /// those of virtual machines.
    pub addresses: bool,
    /// Kernels may compute in 64-bit floating point.
    pub double_precision: bool,
    /// Kernels keep subnormal numbers of `f32`. Apple GPUs take them for zero and write zero in their place; the CPU device does so under
    /// their profiles.
    pub subnormals: bool,
    /// Functions of `f32` (exponentials, logarithms, powers, circular functions) err by at most 2 units in the last place. Else by as
    /// many as Metal's specification allows: powers 16, tangents 6, hyperbolic tangents 5, others 4.
    pub close_functions: bool,
    /// Data of up to this size stays near the cores from one dispatch to the next; 0 where passes over
    /// columns go through memory anyway.
    pub cache: u64,
    /// SIMD-groups multiply matrices of halves at a rate of their own: SIMD-group matrices of Apple GPUs, tensor cores of
    /// NVIDIA GPUs. On the CPU device in conformance mode alone, which has SIMD-groups.
    pub matrix_units: bool,
    /// Threads run as vectors of `simd_width` that stay together. On the CPU device always true, as its kernels are.
    pub vectors: bool,
    /// Montgomery products of 31-bit words a second with all cores busy. Modelled from clock rates and costs
    /// of instructions, see `docs/design/targets.md`; good to a factor of two.
    pub products_per_second: u64,
    /// Bytes read and written a second by a kernel that does nothing else. Modelled as well.
    pub bytes_per_second: u64,
}

impl DeviceProfile {
    /// True if a dispatch needs thousands of threads to keep the device busy.
    pub fn many_core(&self) -> bool {
        self.execution == Execution::ManyCore
    }

    /// Kernel threads in flight on all cores.
    pub fn threads_in_flight(&self) -> u64 {
        u64::from(self.cores.max(1)) * u64::from(self.threads_per_core.max(1))
    }

    /// True if a buffer of `bytes` bytes, rounded as the pool rounds, can be allocated in one piece.
    pub fn has_buffer(&self, bytes: u64) -> bool {
        bytes <= self.max_buffer && rounded(bytes) <= self.max_buffer
    }

    /// The profile of such a device on the CPU: the kernels' own vectors and SIMD width, and no more threads and
    /// memory in a threadgroup than the processor's kernels take, which is `threadgroup_memory`.
    pub(crate) fn on_cpu(self, cpu: &Self, threadgroup_memory: u32) -> Self {
        Self {
            simd_width: cpu.simd_width,
            vectors: cpu.vectors,
            max_threads_per_threadgroup: self
                .max_threads_per_threadgroup
                .min(cpu.max_threads_per_threadgroup),
            max_threadgroup_memory: self.max_threadgroup_memory.min(threadgroup_memory),
            double_precision: self.double_precision && cpu.double_precision,
            matrix_units: self.matrix_units && cpu.matrix_units,
            subnormals: self.subnormals || !CAN_FLUSH,
            ..self
        }
    }
}

impl fmt::Display for DeviceProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
