//! Positions of the smallest and the largest elements; `argmin` and `argmax` of `hologram.array`.

use hologram_core::expression::Strided;
use hologram_core::positions::Extreme;
use pyo3::prelude::*;

use crate::buffer::PyBuffer;
use crate::errors::{exception, OrRaise};
use crate::executor::PyExecutor;

/// Writes the indices of the first extreme elements of a view along an axis, or of all in row-major order, to a buffer of int64.
#[pyfunction]
pub fn positions(
    py: Python<'_>,
    ex: &PyExecutor,
    extreme: &str,
    shape: Vec<usize>,
    axis: Option<usize>,
    source: (PyRef<'_, PyBuffer>, usize, Vec<isize>),
    target: &PyBuffer,
) -> PyResult<()> {
    let extreme = Extreme::from_name(extreme)
        .ok_or_else(|| exception("ArgumentError", format!("no extreme `{extreme}`")))?;
    let (exec, target) = (ex.get()?, target.get()?);
    let (buffer, offset, strides) = (source.0.get()?, source.1, source.2);
    py.detach(|| {
        let source = Strided {
            buffer: &buffer,
            offset,
            strides: &strides,
        };
        hologram_core::positions::positions(&exec, extreme, &shape, axis, &source, &target)
    })
    .or_raise()
}
