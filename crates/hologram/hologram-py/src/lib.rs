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
mod positions;
mod process;
mod program;
mod scans;
mod sorting;
mod view;

/// The module `hologram._hologram`.
#[pyo3::pymodule]
mod _hologram {
    #[pymodule_export]
    use super::buffer::PyBuffer;
    #[pymodule_export]
    use super::dlpack::retype;
    #[pymodule_export]
    use super::executor::{backends, passed_over, PyExecutor};
    #[pymodule_export]
    use super::graph::alone::PyAlone;
    #[pymodule_export]
    use super::graph::array::{new, over, recorded, value_of, PyArray};
    #[pymodule_export]
    use super::graph::assign::{assign, copied, replace};
    #[pymodule_export]
    use super::graph::compute::fold;
    #[pymodule_export]
    use super::graph::element::set_element_types;
    #[pymodule_export]
    use super::graph::elementwise::{Elementwise, Fold};
    #[pymodule_export]
    use super::graph::index::{before_write, listed, set_indexing, taken};
    #[pymodule_export]
    use super::graph::node::recorded_operations;
    #[pymodule_export]
    use super::graph::roll::rolled;
    #[pymodule_export]
    use super::graph::select::either;
    #[pymodule_export]
    use super::graph::stack::stacked;
    #[pymodule_export]
    use super::graph::storage::PyStorage;
    #[pymodule_export]
    use super::graph::value::{number, step, PyValue};
    #[pymodule_export]
    use super::ops::{
        binary, cast, clip, copy, gemm, gemm_at, layer_norm, loss, matvec, operations, reduce,
        scalar, softmax, unary,
    };
    #[pymodule_export]
    use super::positions::positions;
    #[pymodule_export]
    use super::program::PyProgram;
    #[pymodule_export]
    use super::scans::scan;
    #[pymodule_export]
    use super::sorting::sort_rows;

    #[pymodule_init]
    fn init(_module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        super::process::count_forks()
    }
}
