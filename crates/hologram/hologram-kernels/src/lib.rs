#![doc = include_str!("../README.md")]
//!
//! ## In this crate
//! * [`Operation`]: an operation with its type and sizes; [`legality`]: the types that each allows.
//! * [`host`]: operations on the host's memory.
//! * [`device`]: operations on devices.
#![warn(missing_docs)]

mod constants;
pub mod device;
mod epsilon;
pub mod host;
pub mod kernels;
pub mod legality;
mod operation;
mod ops;
pub mod params;
mod sorting;
mod ty;

pub use epsilon::Epsilon;
pub use operation::{Constant, Form, InPlace, Operation};
pub use ops::{BinaryOp, LossOp, MapOp, ReduceOp};
pub use sorting::Sorting;
pub use ty::Ty;
