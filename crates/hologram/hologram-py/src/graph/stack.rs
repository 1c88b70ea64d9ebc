//! Arrays along a new axis.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::alone::alone;
use super::array::PyArray;
use super::linearise::linearise;
use super::pass::Pass;
use super::shape::Shape;
use super::value::{Leaf, Value};
use super::MOST_STEPS;

/// Arrays of one shape, type and device along a new axis, each computed to where it belongs; None of other arrays, of complex ones,
/// and where there is no such axis.
#[pyfunction]
#[pyo3(signature = (arrays, axis, /))]
pub fn stacked(arrays: &Bound<'_, PyList>, axis: &Bound<'_, PyAny>) -> PyResult<Option<PyArray>> {
    let py = arrays.py();
    let objects: Vec<Bound<'_, PyAny>> = arrays.iter().collect();
    let parts = objects
        .iter()
        .map(|object| object.cast::<PyArray>().ok().map(Bound::get));
    let Some(parts) = parts.collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let Some((first, rest)) = parts.split_first() else {
        return Ok(None);
    };
    let is_like = |part: &&PyArray| {
        let (element, device) = (part.element.same(first.element), &part.device);
        element && Arc::ptr_eq(device, &first.device) && part.has_shape(&first.shape)
    };
    let Ok(axis) = axis.extract::<isize>() else {
        return Ok(None);
    };
    let extents = first.shape.extents();
    let dims = extents.len() as isize + 1;
    if !rest.iter().all(is_like) || first.element.lanes != 1 || !(-dims..dims).contains(&axis) {
        return Ok(None);
    }
    let at = axis.rem_euclid(dims) as usize;
    let mut shape = extents.to_vec();
    shape.insert(at, parts.len());
    let _alone = alone(py)?;
    let shape = Shape::asked(shape)?;
    let made = PyArray::new(py, &first.device, &shape, first.element, false)?;
    let whole = made.leaf(py)?;
    let mut strides = whole.strides.to_vec();
    let step = strides.remove(at) as usize;
    let strides: Arc<[isize]> = strides.into();
    let values = parts.iter().map(|part| part.value_in(py, &first.shape));
    let values = values.collect::<PyResult<Vec<_>>>()?;
    let steps = |value: &Value| match value {
        Value::Node(node) => node.steps,
        Value::Leaf(_) | Value::Number(_) => 1,
    };
    // Along other axes the places' ranges of memory overlap. Devices would compile a kernel for each number of arrays.
    let here = first.device.on_host && at == 0;
    let together = here && values.iter().map(steps).sum::<usize>() <= MOST_STEPS;
    let group = if together { values.len() } else { 1 };
    for (index, group) in values.chunks(group).enumerate() {
        let (steps, found) = linearise(group);
        let places = found.iter().enumerate().map(|(i, &value)| {
            let place = Leaf {
                storage: whole.storage.clone(),
                offset: (index + i) * step,
                strides: strides.clone(),
            };
            (value, place)
        });
        let pass = Pass {
            device: &first.device,
            shape: extents,
            steps: &steps,
            outputs: places.collect(),
            fold: None,
        };
        pass.run(py)?;
    }
    Ok(Some(made))
}
