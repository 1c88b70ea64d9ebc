//! Work on arrays in memory that is no step of a graph: products of matrices, sorts, scans, positions of extremes.

use hologram_core::ops::raw;
use hologram_core::positions::Extreme;
use hologram_core::scans;
use hologram_core::sorting::{self, RowsOf, Sorted};
use hologram_core::{Result, Span};
use pyo3::prelude::*;

use super::alone::alone;
use super::array::PyArray;
use super::assign::copied;
use super::compute::fold_op;
use super::value::Leaf;
use crate::errors::{exception, OrRaise};

/// Writes the product of two matrices to a third; the elements of each lie row-major, one after the other.
#[pyfunction]
#[pyo3(signature = (a, b, c, /))]
pub fn product(py: Python<'_>, a: &PyArray, b: &PyArray, c: &PyArray) -> PyResult<()> {
    let (&[m, k], &[_, n]) = (a.shape.extents(), b.shape.extents()) else {
        let message = "product: matrices have two dimensions".into();
        return Err(exception("ShapeError", message));
    };
    let executor = a.device.executor(py)?;
    let _alone = alone(py)?;
    let (a, b, c) = (a.leaf(py)?, b.leaf(py)?, c.leaf(py)?);
    py.detach(|| raw::gemm(&executor, span(&a)?, span(&b)?, span(&c)?, (m, k, n)))
        .or_raise()
}

/// The buffer from the first element on.
fn span(leaf: &Leaf) -> Result<Span<'_>> {
    let buffer = leaf.storage.buffer();
    buffer.slice(leaf.offset, buffer.len().saturating_sub(leaf.offset))
}

/// Writes the indices of the first extreme elements along an axis, or of all in row-major order, to a new array of int64.
#[pyfunction]
#[pyo3(signature = (extreme, array, axis, target, /))]
pub fn positions(
    py: Python<'_>,
    extreme: &str,
    array: &PyArray,
    axis: Option<usize>,
    target: &PyArray,
) -> PyResult<()> {
    let extreme = Extreme::from_name(extreme)
        .ok_or_else(|| exception("ArgumentError", format!("no extreme `{extreme}`")))?;
    let executor = array.device.executor(py)?;
    let _alone = alone(py)?;
    let (from, to, shape) = (array.leaf(py)?, target.leaf(py)?, array.shape.extents());
    py.detach(|| {
        let to = to.storage.buffer();
        hologram_core::positions::positions(&executor, extreme, shape, axis, &from.strided(), to)
    })
    .or_raise()
}

/// Writes the fold of the elements up to each along an axis to an array of the same shape, converted to its type.
#[pyfunction]
#[pyo3(signature = (operation, array, axis, target, /))]
pub fn scan(
    py: Python<'_>,
    operation: &str,
    array: &PyArray,
    axis: usize,
    target: &PyArray,
) -> PyResult<()> {
    let op = fold_op(operation)?;
    let executor = array.device.executor(py)?;
    let _alone = alone(py)?;
    let (from, to, shape) = (array.leaf(py)?, target.leaf(py)?, array.shape.extents());
    py.detach(|| scans::run(&executor, op, shape, axis, &from.strided(), &to.strided()))
        .or_raise()
}

/// Writes each row along the last axis in order to a dense array, or the indices that put it in order, where that is of int64 and
/// `order` holds.
#[pyfunction]
#[pyo3(signature = (order, descending, array, target, /))]
pub fn sort_rows(
    py: Python<'_>,
    order: bool,
    descending: bool,
    array: &PyArray,
    target: &PyArray,
) -> PyResult<()> {
    let executor = array.device.executor(py)?;
    let _alone = alone(py)?;
    let (mut from, to) = (array.leaf(py)?, target.leaf(py)?);
    if *from.strides != **array.shape.dense() {
        from = copied(py, array)?.leaf(py)?;
    }
    let cols = array.shape.extents().last().map_or(1, |&cols| cols);
    let rows = array.shape.size() / cols.max(1);
    let sorted = match order {
        true => Sorted::Order,
        false => Sorted::Values,
    };
    py.detach(|| {
        let (from, to) = (rows_of(&from), rows_of(&to));
        sorting::sort(&executor, sorted, descending, (rows, cols), from, to)
    })
    .or_raise()
}

fn rows_of(leaf: &Leaf) -> RowsOf<'_> {
    RowsOf {
        buffer: leaf.storage.buffer(),
        offset: leaf.offset,
    }
}
