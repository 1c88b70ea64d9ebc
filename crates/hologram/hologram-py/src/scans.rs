//! Folds of the elements up to each; cumulative sums and products of `hologram.array` on devices with memory of their own.

use hologram_core::expression::{FoldOp, Strided};
use hologram_core::scans;
use pyo3::prelude::*;

use crate::buffer::PyBuffer;
use crate::errors::{exception, OrRaise};
use crate::executor::PyExecutor;

/// A buffer, its first element, and elements along each dimension.
type View<'py> = (PyRef<'py, PyBuffer>, usize, Vec<isize>);

/// Writes the fold of the elements up to each along an axis, converted to the target's type.
#[pyfunction]
pub fn scan(
    py: Python<'_>,
    ex: &PyExecutor,
    operation: &str,
    shape: Vec<usize>,
    axis: usize,
    source: View<'_>,
    target: View<'_>,
) -> PyResult<()> {
    let op = FoldOp::from_name(operation)
        .ok_or_else(|| exception("ArgumentError", format!("no fold `{operation}`")))?;
    let exec = ex.get()?;
    let (from, to) = (source.0.get()?, target.0.get()?);
    py.detach(|| {
        let source = Strided {
            buffer: &from,
            offset: source.1,
            strides: &source.2,
        };
        let target = Strided {
            buffer: &to,
            offset: target.1,
            strides: &target.2,
        };
        scans::run(&exec, op, &shape, axis, &source, &target)
    })
    .or_raise()
}
