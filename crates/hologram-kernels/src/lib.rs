//! Operations on whole buffers, for `hologram-backends`: element types, operations, and code that runs
//! them on host memory ([`host`]) and on devices ([`device`]).
#![warn(missing_docs)]

pub mod device;
pub mod host;
pub mod kernels;
pub mod legality;
mod operation;
pub mod ops;
pub mod params;
mod ty;

pub use operation::Operation;
pub use ops::{BinaryOp, LossOp, MapOp, ReduceOp};
pub use ty::Ty;
