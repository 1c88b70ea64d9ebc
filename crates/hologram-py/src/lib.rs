#![doc = include_str!("../README.md")]
//!
//! ## In this crate
//! The native half of the package, the module `hologram._hologram`; the other half, under `python/`, documents its functions.
#![warn(missing_docs)]

mod arguments;
mod buffer;
mod dense;
mod dlpack;
mod dtype;
mod errors;
mod executor;
mod expression;
mod extremes;
mod interrupt;
mod names;
mod ops;
mod process;
mod program;
mod view;

/// The module `hologram._hologram`.
#[pyo3::pymodule]
mod _hologram {
    #[pymodule_export]
    use super::buffer::PyBuffer;
    #[pymodule_export]
    use super::executor::{backends, PyExecutor};
    #[pymodule_export]
    use super::expression::PyExpression;
    #[pymodule_export]
    use super::extremes::extreme_positions;
    #[pymodule_export]
    use super::ops::{
        binary, cast, clip, copy, gemm, gemm_at, layer_norm, loss, matvec, reduce, scalar, softmax,
        unary,
    };
    #[pymodule_export]
    use super::program::PyProgram;
}
