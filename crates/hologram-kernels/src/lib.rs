//! Operations on whole buffers, for `hologram-backends`: element types, operations, and code that runs
//! them on host memory ([`host`]).
#![warn(missing_docs)]

pub mod host;
pub mod legality;
mod operation;
pub mod ops;
mod ty;

pub use operation::Operation;
pub use ops::{BinaryOp, LossOp, MapOp, ReduceOp};
pub use ty::Ty;
