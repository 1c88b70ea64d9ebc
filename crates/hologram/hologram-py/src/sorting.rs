//! Sorts of rows; `sort` and `argsort` of `hologram.array` on devices with memory of their own.

use hologram_core::sorting::{self, RowsOf, Sorted};
use pyo3::prelude::*;

use crate::buffer::PyBuffer;
use crate::errors::OrRaise;
use crate::executor::PyExecutor;

/// A buffer and its first element.
type Rows<'py> = (PyRef<'py, PyBuffer>, usize);

/// Writes each row in order to `target`, or the indices that put it in order, where that is a buffer of int64 and `order` holds.
#[pyfunction]
#[expect(
    clippy::too_many_arguments,
    reason = "called by `hologram.array` alone"
)]
pub fn sort_rows(
    py: Python<'_>,
    ex: &PyExecutor,
    order: bool,
    descending: bool,
    rows: usize,
    cols: usize,
    source: Rows<'_>,
    target: Rows<'_>,
) -> PyResult<()> {
    let exec = ex.get()?;
    let (from, to) = (source.0.get()?, target.0.get()?);
    let sorted = match order {
        true => Sorted::Order,
        false => Sorted::Values,
    };
    py.detach(|| {
        let source = RowsOf {
            buffer: &from,
            offset: source.1,
        };
        let target = RowsOf {
            buffer: &to,
            offset: target.1,
        };
        sorting::sort(&exec, sorted, descending, (rows, cols), source, target)
    })
    .or_raise()
}
