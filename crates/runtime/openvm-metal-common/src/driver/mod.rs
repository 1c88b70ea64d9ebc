//! The small interface between the run time and a device, and the three devices behind it.

#[cfg(any(test, target_vendor = "apple"))]
mod apple;
#[cfg(any(test, target_vendor = "apple"))]
mod completion;
pub(crate) mod cpu;
#[cfg(not(target_vendor = "apple"))]
mod cuda;
#[cfg(any(test, target_vendor = "apple"))]
mod inlining;
mod interface;
pub(crate) mod kernels;
#[cfg(any(test, not(target_vendor = "apple")))]
mod loading;
#[cfg(target_vendor = "apple")]
mod metal;
mod open;
#[cfg(any(test, target_vendor = "apple"))]
mod origin;
mod shuffled;
mod units;

pub(crate) use self::interface::{
    Dispatch, Driver, DriverResult, Fault, Mark, OpenOptions, Read, Tag, CAPTURE_VARIABLE,
};
pub(crate) use self::open::{cuda_devices, open, probe};
pub(crate) use self::units::UnitChoice;
