//! Memory of arrays that goes out.

use std::sync::Arc;

use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use super::array::PyArray;
use crate::dlpack;
use crate::errors::OrRaise;

/// A capsule over an array's memory, which is the host's. The caller says that others see it from now on.
///
/// # Errors
/// `BufferError`: memory of a device. What computing the array says.
#[pyfunction]
#[pyo3(signature = (array, max_version = None, /))]
pub fn dlpack_of<'py>(
    py: Python<'py>,
    array: &PyArray,
    max_version: Option<(u32, u32)>,
) -> PyResult<Bound<'py, PyAny>> {
    let leaf = array.leaf(py)?;
    let buffer = leaf.storage.buffer().clone();
    let pointer = buffer.host_pointer().or_raise()?;
    let pointer =
        pointer.ok_or_else(|| PyBufferError::new_err("the memory is the device's own"))?;
    let inside = if array.shape.is_empty() {
        0
    } else {
        leaf.offset
    };
    if inside >= buffer.len().max(1) {
        return Err(PyBufferError::new_err(
            "the array lies outside of its memory",
        ));
    }
    // SAFETY: the first element lies in the buffer, as was checked.
    let first = unsafe { pointer.as_ptr().add(inside * buffer.element_size()) };
    let shape = array.shape.extents().iter().map(|&extent| extent as i64);
    let strides = leaf.strides.iter().map(|&stride| stride as i64);
    let extents = (shape.collect(), strides.collect());
    dlpack::capsule_of(py, buffer, first, Arc::default(), extents, max_version)
}
