//! Faults on request, to test that every failure path ends in a typed error.

/// A failure to simulate; see [`crate::MetalContext::inject_fault`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The device is lost at the dispatch after `dispatches` more of them.
    DeviceLost { dispatches: u64 },
    /// From now on the kernel, or all kernels of the unit, of this name are missing, as if the device's compiler had
    /// refused them.
    Refused(&'static str),
    /// The next submission completes with an error.
    SubmissionFailed,
    /// The next wait never ends by itself.
    EndlessWait,
    /// The device has no memory left for the next allocation that needs some from it.
    AllocationFailed,
}
