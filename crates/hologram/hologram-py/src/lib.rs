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
mod graph;
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
    use super::graph::{
        alone::PyAlone,
        array::{new, recorded, value_of, PyArray},
        assign::{assign, copied, replace},
        compute::fold,
        element::set_element_types,
        elementwise::{Elementwise, Fold},
        index::{before_write, listed, set_indexing, taken},
        node::recorded_operations,
        roll::rolled,
        stack::stacked,
        storage::PyStorage,
        value::{number, rounded, step, PyValue},
        whole::{positions, product, scan, sort_rows},
    };
    #[pymodule_export]
    use super::{
        buffer::PyBuffer,
        dlpack::retype,
        executor::{backends, passed_over, PyExecutor},
        ops::{
            binary, cast, clip, copy, gemm, layer_norm, loss, matvec, operations, reduce, scalar,
            softmax, unary,
        },
        program::PyProgram,
    };

    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        super::process::count_forks()
    }
}
