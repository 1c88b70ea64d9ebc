//! Whole-buffer operations on devices, compared with the same operations on the host's memory.
//!
//! Integers must be equal, floats within a [`Tolerance`] that follows from how the device may add up.

mod case;
mod run;
mod suite;

pub use case::{elementwise, losses, product, reductions, rows, OperationCase};
pub use run::{
    compared, difference, elements, on_device, on_host, random, DeviceResult, Tolerance,
};
pub use suite::{suite, OperationGroup};
