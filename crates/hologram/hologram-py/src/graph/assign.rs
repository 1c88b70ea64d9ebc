//! Elements that are written into an array.

use std::sync::{Arc, Weak};

use pyo3::prelude::*;

use super::alone::alone;
use super::array::{Content, PyArray};
use super::compute::compute_readers;
use super::inner::inner;
use super::linearise::linearise;
use super::node::Node;
use super::pass::Pass;
use super::shape::broadcast_strides;
use super::value::{Leaf, Value};

/// The elements in memory of their own, row-major.
#[pyfunction]
#[pyo3(signature = (array, /))]
pub fn copied(py: Python<'_>, array: &PyArray) -> PyResult<PyArray> {
    let made = PyArray::new(py, &array.device, &array.shape, array.element, false)?;
    assign(py, &made, array)?;
    Ok(made)
}

/// Writes the elements of an array of the same type, which broadcasts, into the memory of another.
#[pyfunction]
#[pyo3(signature = (target, source, /))]
pub fn assign(py: Python<'_>, target: &PyArray, source: &PyArray) -> PyResult<()> {
    let _alone = alone(py)?;
    target.check_written()?;
    write(py, &target.leaf(py)?, target, source, None)
}

/// Makes an array what another of the same shape and type is, which nobody else sees. What is recorded for both stays so: no view
/// shows such an array, since views compute it.
#[pyfunction]
#[pyo3(signature = (target, source, /))]
pub fn replace(py: Python<'_>, target: &PyArray, source: &PyArray) -> PyResult<()> {
    let _alone = alone(py)?;
    target.check_written()?;
    match (target.slot.content(), source.slot.content()) {
        (Content::Recorded(old), Content::Recorded(node)) => {
            old.show_by(Weak::new());
            node.show_by(Arc::downgrade(&target.slot));
            target.slot.set(Content::Recorded(node));
            Ok(())
        }
        (Content::Recorded(old), Content::Memory(_)) => {
            // All of its elements are written, so the old ones are not needed.
            let ones = PyArray::new(py, &target.device, &target.shape, target.element, false)?;
            let leaf = ones.leaf(py)?;
            write(py, &leaf, target, source, None)?;
            old.show_by(Weak::new());
            target.slot.settle(leaf);
            Ok(())
        }
        (Content::Memory(leaf), Content::Recorded(node)) => {
            write(py, &leaf, target, source, Some(node))
        }
        (Content::Memory(leaf), Content::Memory(_)) => write(py, &leaf, target, source, None),
    }
}

/// Writes a source to where a target's elements are. `own` is the source's node, where nobody else sees the source: then it need
/// not be computed apart.
fn write(
    py: Python<'_>,
    at: &Leaf,
    target: &PyArray,
    source: &PyArray,
    own: Option<Arc<Node>>,
) -> PyResult<()> {
    let shape = &target.shape;
    if shape.is_empty() {
        let none = vec![0; source.shape.extents().len()];
        broadcast_strides(source.shape.extents(), &none, shape.extents())?;
        return Ok(());
    }
    let value = source.value_in(py, shape)?;
    // `x[key] += y` writes the elements through a view, and then assigns the view to its own place.
    if matches!(&value, Value::Leaf(leaf) if leaf.same(at)) {
        return Ok(());
    }
    // What still has to read the old elements does it now.
    let skipped = own.as_ref().map_or_else(Vec::new, inner);
    compute_readers(py, &at.storage, &skipped)?;
    let mut value = value.settled();
    let (mut steps, mut values) = linearise([&value]);
    let moved = |leaf: &Leaf| Arc::ptr_eq(&leaf.storage, &at.storage) && !leaf.same_place(at);
    if steps.leaves.iter().any(moved) {
        let apart = match value {
            Value::Leaf(_) => copied(py, source)?.leaf_in(py, shape)?,
            Value::Number(_) | Value::Node(_) => {
                source.leaf(py)?;
                source.leaf_in(py, shape)?
            }
        };
        value = Value::Leaf(apart);
        (steps, values) = linearise([&value]);
    }
    let mut pass = Pass {
        device: &target.device,
        shape: shape.extents(),
        steps: &steps,
        outputs: vec![(values[0], at.clone())],
        fold: None,
    };
    let Value::Leaf(leaf) = &value else {
        return pass.run(py);
    };
    if target.element.lanes == 1 {
        return pass.run(py);
    }
    // Complex numbers are moved as pairs; they are never recorded.
    let mut extents = shape.extents().to_vec();
    extents.push(target.element.lanes);
    let (steps, values) = linearise([&Value::Leaf(leaf.parts(target.element.lanes))]);
    pass.shape = &extents;
    pass.steps = &steps;
    pass.outputs = vec![(values[0], at.parts(target.element.lanes))];
    pass.run(py)
}
