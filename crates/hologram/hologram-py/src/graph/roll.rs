//! Arrays whose elements are moved along axes.

use std::sync::Arc;

use pyo3::prelude::*;

use super::alone::alone;
use super::array::PyArray;
use super::assign::assign;
use super::shape::Shape;
use super::value::Leaf;

/// A new array: along each axis the last elements, as many as its shift, come first.
#[pyfunction]
#[pyo3(signature = (array, shifts, /))]
pub fn rolled(py: Python<'_>, array: &PyArray, shifts: Vec<usize>) -> PyResult<PyArray> {
    let _alone = alone(py)?;
    let made = PyArray::new(py, &array.device, &array.shape, array.element, false)?;
    let extents = array.shape.extents();
    if array.shape.is_empty() {
        return Ok(made);
    }
    let (from, to) = (array.leaf(py)?, made.leaf(py)?);
    // Pieces: extents, and the first elements of both.
    let mut pieces = vec![(Vec::new(), from.offset as isize, to.offset as isize)];
    for (d, &extent) in extents.iter().enumerate() {
        let shift = shifts.get(d).map_or(0, |shift| shift % extent);
        let mut cut = Vec::new();
        for (shape, read, written) in pieces {
            // The last `shift` elements become the first.
            for (len, begin, end) in [(extent - shift, 0, shift), (shift, extent - shift, 0)] {
                if len > 0 {
                    let mut shape = shape.clone();
                    shape.push(len);
                    let read = read + begin as isize * from.strides[d];
                    cut.push((shape, read, written + end as isize * to.strides[d]));
                }
            }
        }
        pieces = cut;
    }
    for (shape, read, written) in pieces {
        let shape = Shape::new(shape);
        let part = |leaf: &Leaf, offset: isize| {
            let leaf = Leaf {
                offset: offset as usize,
                ..leaf.clone()
            };
            PyArray::over(leaf, Arc::clone(&shape), array.element)
        };
        assign(py, &part(&to, written), &part(&from, read))?;
    }
    Ok(made)
}
