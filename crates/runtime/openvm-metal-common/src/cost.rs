//! Cost of a dispatch on the device, so that its time is known before it runs.

use serde::Serialize;

/// Products assumed of each thread of a kernel that states no cost.
const ASSUMED_PRODUCTS: u64 = 64;

/// Work of all threads of a dispatch together.
///
/// Generated launchers give it to [`KernelCall::cost`](crate::KernelCall::cost) from the cost clause beside the
/// kernel. The stream makes slices and submissions by it; results never depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Cost {
    /// Montgomery products of 31-bit words, or other work in that unit.
    pub products: u64,
    /// Bytes read and written in device memory.
    pub bytes: u64,
}

impl Cost {
    /// `threads` threads that each compute `products` and move `bytes`.
    pub fn of_threads(threads: u64, products: u64, bytes: u64) -> Self {
        Self {
            products: threads.saturating_mul(products),
            bytes: threads.saturating_mul(bytes),
        }
    }

    /// Bytes that are moved and not worked on.
    pub(crate) fn of_bytes(bytes: u64) -> Self {
        Self { products: 0, bytes }
    }

    /// The cost assumed for a kernel that states no cost: a little work by each thread, and every bound byte
    /// used once.
    pub(crate) fn assumed(threads: u64, bound_bytes: u64) -> Self {
        Self {
            products: threads.saturating_mul(ASSUMED_PRODUCTS),
            bytes: bound_bytes,
        }
    }
}
