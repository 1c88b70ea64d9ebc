//! Everything that can go wrong, as one typed error.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::device_kind::DeviceKind;
use crate::trusted_folder::UntrustedPath;

/// Result of every fallible operation of this crate.
pub type Result<T, E = MetalError> = std::result::Result<T, E>;

/// Names of the kernels encoded last before a failure, newest last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentKernels(pub Vec<&'static str>);

impl fmt::Display for RecentKernels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        f.write_str(&self.0.join(", "))
    }
}

/// Errors of requests and submissions.
///
/// Every variant names the request (kernel, argument, buffer, stage) and the sizes involved.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetalError {
    /// The device name is none of those that exist.
    #[error("unknown device '{name}': expected auto, metal, cuda, cuda:1 and so on, cpu or cpu-conformance")]
    UnknownDevice { name: String },
    /// The profile is none of those that exist.
    #[error("unknown device profile '{name}': expected one of {known}")]
    UnknownDeviceProfile { name: String, known: String },
    /// A profile for a device that has its own.
    #[error("device {device} has a profile of its own and cannot take '{profile}': only the cpu device can (OPENVM_METAL_DEVICE=cpu)")]
    ProfileRefused {
        device: DeviceKind,
        profile: &'static str,
    },
    /// The device exists as a kind but cannot be used here.
    #[error("device {device} is not available: {reason}")]
    DeviceUnavailable { device: DeviceKind, reason: String },
    /// An environment variable holds a value that cannot be understood.
    #[error("{variable}='{value}' is not valid: expected {expected}")]
    InvalidSetting {
        variable: &'static str,
        value: String,
        expected: &'static str,
    },
    /// The device's compiler or loader refused a kernel unit made at run time.
    #[error("{device} refused kernel unit '{unit}': {message}")]
    KernelCompile {
        device: DeviceKind,
        unit: String,
        message: String,
    },
    /// Other users can replace the native code of a unit made at run time.
    #[error("kernel unit '{unit}': {reason}")]
    UntrustedCode {
        unit: String,
        #[source]
        reason: UntrustedPath,
    },
    /// The device's compiler refused the kernel or its unit (the reason holds its words), the kernel has no code
    /// for this device, or its library was not given to the context.
    #[error("kernel {kernel} of unit '{unit}' cannot run on {device}: {reason}")]
    KernelMissing {
        kernel: String,
        unit: String,
        device: DeviceKind,
        reason: String,
    },
    /// The kernel's unit is left out: it is not for this device, or `OPENVM_METAL_LEAVE_OUT` names it.
    #[error("kernel {kernel} of unit '{unit}' is left out on {device}: {reason}")]
    KernelLeftOut {
        kernel: String,
        unit: String,
        device: DeviceKind,
        reason: String,
    },
    /// No kernel of the program has code for the device: when it was built the compiler was missing, or the code was not wanted.
    #[error("this program was built without kernels for {device}: {remedy}")]
    KernelsNotBuilt {
        device: DeviceKind,
        remedy: &'static str,
    },
    /// A dispatch over no threads.
    #[error("kernel {kernel}: empty grid")]
    EmptyGrid { kernel: &'static str },
    /// More threadgroups than the device can number.
    #[error("kernel {kernel}: {threadgroups:?} threadgroups exceed the device's {limit:?}")]
    GridTooLarge {
        kernel: &'static str,
        threadgroups: [u64; 3],
        limit: [u64; 3],
    },
    /// More threads in a threadgroup than the kernel or the device allows.
    #[error("kernel {kernel}: {requested} threads per threadgroup, at most {limit} allowed")]
    TooManyThreads {
        kernel: &'static str,
        requested: u64,
        limit: u32,
    },
    /// More threadgroup memory than the device has.
    #[error("kernel {kernel}: {requested} bytes of threadgroup memory, at most {limit} available")]
    ThreadgroupMemory {
        kernel: &'static str,
        requested: u64,
        limit: u32,
    },
    /// A buffer argument is shorter than the launch needs.
    #[error("kernel {kernel}: argument '{argument}' holds {actual} elements, the launch needs {required}")]
    BufferTooShort {
        kernel: &'static str,
        argument: &'static str,
        required: u64,
        actual: u64,
    },
    /// A kernel would write an argument that shares memory with another: Apple's compiler assumes that arguments are
    /// apart. Only a kernel with an `InPlace:` clause takes one range as several arguments, and then all of it.
    #[error("kernel {kernel}: argument '{written}', which it writes, shares {bytes} bytes with '{other}': give it memory of its own, or exactly the same range if the kernel's `InPlace:` clause names both")]
    OverlappingArguments {
        kernel: &'static str,
        written: &'static str,
        other: &'static str,
        bytes: u64,
    },
    /// The parameters of a launch break a condition of the kernel's `Requires:` clause.
    #[error("kernel {kernel} requires {requirement}: here {left} stands left, {right} right")]
    UnmetRequirement {
        kernel: &'static str,
        requirement: &'static str,
        left: u64,
        right: u64,
    },
    /// Safe code launched a kernel whose addresses no clause bounds.
    #[error("kernel {kernel} cannot be checked: launch it with dispatch_unchecked")]
    UncheckedKernel { kernel: &'static str },
    /// A launch set an argument the kernel does not have, missed one, or gave one of another size.
    #[error("kernel {kernel}: argument '{argument}': expected {expected}, got {actual}")]
    ArgumentMismatch {
        kernel: &'static str,
        argument: &'static str,
        expected: String,
        actual: String,
    },
    /// A buffer that belongs to another context was given to this one.
    #[error("{what}: the buffer belongs to another context")]
    WrongContext { what: &'static str },
    /// A range that does not lie inside its buffer.
    #[error("range {start}..{end} is outside a buffer of {len} elements")]
    RangeOutOfBounds {
        start: usize,
        end: usize,
        len: usize,
    },
    /// A reinterpretation or sub-range that breaks the alignment or size of its element type.
    #[error("{what}: byte offset {offset} and length {bytes} do not fit elements of {elem} bytes")]
    Misaligned {
        what: &'static str,
        offset: u64,
        bytes: u64,
        elem: u64,
    },
    /// The two sides of a copy differ in length (elements).
    #[error("copy of {source_len} elements into {destination_len}")]
    LengthMismatch {
        source_len: usize,
        destination_len: usize,
    },
    /// The memory budget, or the device itself, cannot hold the allocation.
    #[error(
        "out of device memory in stage '{stage}': {requested} bytes requested, {in_use} in use, budget {budget}"
    )]
    OutOfMemory {
        requested: u64,
        in_use: u64,
        budget: u64,
        stage: Arc<str>,
    },
    /// A single allocation over the largest that the device makes.
    #[error("{requested} bytes requested in one piece, the device gives at most {limit}")]
    BufferTooLarge { requested: u64, limit: u64 },
    /// The host has no memory for a copy.
    #[error("out of host memory: {bytes} bytes requested")]
    HostMemory { bytes: u64 },
    /// The device disappeared or stopped working; the context cannot be used any more.
    #[error("{device} lost in stage '{stage}' (last kernels: {kernels}): {reason}")]
    DeviceLost {
        device: DeviceKind,
        stage: Arc<str>,
        kernels: RecentKernels,
        reason: String,
    },
    /// A submission ended with an error.
    #[error(
        "submission to {device} failed in stage '{stage}' (last kernels: {kernels}): {reason}"
    )]
    SubmissionFailed {
        device: DeviceKind,
        stage: Arc<str>,
        kernels: RecentKernels,
        reason: String,
    },
    /// A wait took longer than allowed.
    #[error(
        "{device} did not finish within {after:?} in stage '{stage}' (last kernels: {kernels})"
    )]
    WaitTimeout {
        device: DeviceKind,
        stage: Arc<str>,
        after: Duration,
        kernels: RecentKernels,
    },
    /// A dispatch was ended between two of its slices by the signal given to [`KernelCall::stop`](crate::KernelCall::stop).
    #[error("kernel {kernel} was stopped: {begun} of {threads} threads were begun")]
    Stopped {
        kernel: &'static str,
        /// Threads of the slices that ran, the first in the order of the threadgroups.
        begun: u64,
        threads: u64,
    },
    /// Threads of one threadgroup reached different barriers (found in conformance mode).
    #[error("kernel {kernel}: divergent barrier in threadgroup {threadgroup:?}: {detail}")]
    DivergentBarrier {
        kernel: &'static str,
        threadgroup: [u32; 3],
        detail: String,
    },
    /// The trace that `OPENVM_METAL_CAPTURE` asks for cannot be written.
    #[error("no trace of the GPU's work can be written to {path}: {reason}")]
    Capture { path: String, reason: String },
    /// A device driver call failed in a way none of the other cases describes.
    #[error("{device}: {call} failed: {message}")]
    Driver {
        device: DeviceKind,
        call: &'static str,
        message: String,
    },
}

impl MetalError {
    /// [`MetalError::ArgumentMismatch`] for an argument that a kernel, or what launches it, cannot take.
    pub fn argument_mismatch(
        kernel: &'static str,
        argument: &'static str,
        expected: impl Into<String>,
        actual: impl Into<String>,
    ) -> Self {
        Self::ArgumentMismatch {
            kernel,
            argument,
            expected: expected.into(),
            actual: actual.into(),
        }
    }

    /// True if the context that returned this can never work again.
    pub fn is_fatal(&self) -> bool {
        matches!(
            self,
            Self::DeviceLost { .. } | Self::WaitTimeout { .. } | Self::SubmissionFailed { .. }
        )
    }
}
