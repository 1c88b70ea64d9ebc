//! Elements by index: the shortest way from `x[key]` to a view, and from `x[key] = number` to memory. Keys of arrays are
//! `hologram.array.indexing`'s.

use std::sync::Arc;

use pyo3::exceptions::{PyIndexError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyComplex, PyFloat, PyInt, PyList, PySlice, PySliceMethods, PyTuple};
use pyo3::IntoPyObjectExt;

use super::alone::alone;
use super::array::PyArray;
use super::assign::assign;
use super::compute::compute_readers;
use super::element::{Element, Kind};
use super::scatter::scatter;
use super::select::{select, store};
use super::shape::Shape;
use super::value::{Leaf, Number, Value};
use crate::dtype;
use crate::errors::OrRaise;

/// Functions of Python for the other keys and values of `x[key]` and `x[key] = value`.
static OTHERWISE: PyOnceLock<(Py<PyAny>, Py<PyAny>)> = PyOnceLock::new();

/// Sets what `x[key]` and `x[key] = value` do where that takes more than a view; once.
#[pyfunction]
#[pyo3(signature = (get, put, /))]
pub fn set_indexing(get: &Bound<'_, PyAny>, put: &Bound<'_, PyAny>) {
    // A second import of the package brings the same functions.
    let _ = OTHERWISE.set(get.py(), (get.clone().unbind(), put.clone().unbind()));
}

fn otherwise(py: Python<'_>) -> PyResult<&(Py<PyAny>, Py<PyAny>)> {
    let missing = || PyTypeError::new_err("hologram.array was not imported");
    OTHERWISE.get(py).ok_or_else(missing)
}

/// One part of a key.
enum Part<'a, 'py> {
    Index(isize),
    Slice(&'a Bound<'py, PySlice>),
    New,
    Dots,
}

/// A part of a key, None for one that makes no view.
fn part<'a, 'py>(object: &'a Bound<'py, PyAny>) -> PyResult<Option<Part<'a, 'py>>> {
    if object.is_exact_instance_of::<PyInt>() {
        let too_large = |_| PyIndexError::new_err(format!("index {object} is out of bounds"));
        return object
            .extract()
            .map(|i| Some(Part::Index(i)))
            .map_err(too_large);
    }
    if let Ok(slice) = object.cast_exact::<PySlice>() {
        return Ok(Some(Part::Slice(slice)));
    }
    if object.is_none() {
        return Ok(Some(Part::New));
    }
    Ok(object
        .is(object.py().Ellipsis().bind(object.py()))
        .then_some(Part::Dots))
}

/// The parts of a key of which all make views, else None.
fn parts<'a, 'py>(keys: &'a [Bound<'py, PyAny>]) -> PyResult<Option<Vec<Part<'a, 'py>>>> {
    keys.iter().map(part).collect()
}

/// The view of integers, slices, `...` and `None`; None of other keys.
///
/// # Errors
/// `IndexError`: an integer out of bounds, more indices than dimensions. What computing the array says.
pub fn view(array: &PyArray, key: &Bound<'_, PyAny>) -> PyResult<Option<PyArray>> {
    let py = key.py();
    let several: Vec<_>;
    let keys = match key.cast_exact::<PyTuple>() {
        Ok(tuple) => {
            several = tuple.iter().collect();
            &several
        }
        Err(_) => std::slice::from_ref(key),
    };
    let Some(parts) = parts(keys)? else {
        return Ok(None);
    };
    let extents = array.shape.extents();
    let dims = parts
        .iter()
        .filter(|part| matches!(part, Part::Index(_) | Part::Slice(_)));
    let used = dims.count();
    let dots = parts
        .iter()
        .filter(|part| matches!(part, Part::Dots))
        .count();
    if used > extents.len() || dots > 1 {
        let message = format!(
            "{used} indices and {dots} `...` for an array of {} dimensions",
            extents.len()
        );
        return Err(PyIndexError::new_err(message));
    }
    let leaf = array.leaf(py)?;
    let mut offset = leaf.offset as isize;
    let mut shape = Vec::with_capacity(extents.len());
    let mut strides = Vec::with_capacity(extents.len());
    let mut d = 0;
    for part in &parts {
        match part {
            Part::New => {
                shape.push(1);
                strides.push(0);
            }
            Part::Dots => {
                let end = d + extents.len() - used;
                shape.extend_from_slice(&extents[d..end]);
                strides.extend_from_slice(&leaf.strides[d..end]);
                d = end;
            }
            &Part::Index(index) => {
                let extent = extents[d] as isize;
                if !(-extent..extent).contains(&index) {
                    let message = format!("index {index} of axis {d}, which has {extent} elements");
                    return Err(PyIndexError::new_err(message));
                }
                let at = if index < 0 { index + extent } else { index };
                offset += at * leaf.strides[d];
                d += 1;
            }
            Part::Slice(slice) => {
                let found = slice.indices(extents[d] as isize)?;
                if found.slicelength > 0 {
                    offset += found.start * leaf.strides[d];
                }
                shape.push(found.slicelength);
                // A single element has no next one: the step may be as long as Python's integers are.
                let step = if found.slicelength > 1 { found.step } else { 1 };
                strides.push(leaf.strides[d] * step);
                d += 1;
            }
        }
    }
    shape.extend_from_slice(&extents[d..]);
    strides.extend_from_slice(&leaf.strides[d..]);
    let leaf = Leaf {
        storage: leaf.storage,
        // Of no elements only, which nobody reads, it could be anything.
        offset: usize::try_from(offset).unwrap_or(0),
        strides: strides.into(),
    };
    // Parts have no more elements than the whole.
    let shape = if shape.len() > extents.len() {
        Shape::asked(shape)?
    } else {
        Shape::new(shape)
    };
    Ok(Some(array.part(leaf, shape)))
}

/// Writes a number into a view.
fn fill(py: Python<'_>, to: &PyArray, number: Number) -> PyResult<()> {
    if to.shape.size() != 1 || !to.device.on_host {
        let from = PyArray::recorded(
            py,
            Value::Number(number),
            &Shape::new(Vec::new()),
            to.element,
            &to.device,
        )?;
        return assign(py, to, &from);
    }
    let _alone = alone(py)?;
    let leaf = to.leaf(py)?;
    compute_readers(py, &leaf.storage, &[])?;
    let size = number.ty.size();
    let bytes = number.bits.to_le_bytes();
    let buffer = leaf.storage.buffer();
    buffer
        .write_bytes(leaf.offset * size, &bytes[..size])
        .or_raise()
}

/// x[key]
pub fn get<'py>(
    array: &Bound<'py, PyArray>,
    key: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = array.py();
    if let Some(found) = view(array.get(), key)? {
        return found.into_bound_py_any(py);
    }
    if let Ok(mask) = key.cast_exact::<PyArray>() {
        if let Some(found) = select(py, array.get(), mask.get())? {
            return found.into_bound_py_any(py);
        }
    }
    otherwise(py)?.0.bind(py).call1((array, key))
}

/// x[key] = value
pub fn put(
    array: &Bound<'_, PyArray>,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let py = array.py();
    array.get().check_written()?;
    if let Some(number) = Number::of(value, array.get().element) {
        if let Some(to) = view(array.get(), key)? {
            return fill(py, &to, number);
        }
        if let Ok(names) = key.cast_exact::<PyArray>() {
            if scatter(py, array.get(), names.get(), number)? {
                return Ok(());
            }
        }
    }
    if let Ok(value) = value.cast::<PyArray>() {
        let (to, from) = (array.get(), value.get());
        if to.element.same(from.element) && Arc::ptr_eq(&to.device, &from.device) {
            if let Some(to) = view(to, key)? {
                return assign(py, &to, from);
            }
            if let Ok(mask) = key.cast_exact::<PyArray>() {
                if store(py, to, mask.get(), from)? {
                    return Ok(());
                }
            }
        }
    }
    otherwise(py)?.1.bind(py).call1((array, key, value))?;
    Ok(())
}

/// The one element as a number of Python.
///
/// # Errors
/// `TypeError`: there are several. What computing and reading it says.
pub fn item(py: Python<'_>, array: &PyArray) -> PyResult<Py<PyAny>> {
    if array.shape.size() != 1 {
        let message = format!("an array of {} elements is no number", array.shape.size());
        return Err(PyTypeError::new_err(message));
    }
    let leaf = array.leaf(py)?;
    let (size, buffer) = (leaf.ty().size(), leaf.storage.buffer());
    let read = |lane: usize| -> PyResult<Py<PyAny>> {
        let mut bytes = [0; 8];
        let at = (leaf.offset * array.element.lanes + lane) * size;
        py.detach(|| buffer.read_bytes(at, &mut bytes[..size]))
            .or_raise()?;
        dtype::from_bits(py, leaf.ty(), u64::from_le_bytes(bytes))
    };
    match array.element.kind {
        Kind::Bool => read(0)?.bind(py).is_truthy()?.into_py_any(py),
        Kind::Complex => {
            // Both parts are of one moment.
            let _alone = alone(py)?;
            let (real, imaginary) = (read(0)?.extract(py)?, read(1)?.extract(py)?);
            PyComplex::from_doubles(py, real, imaginary).into_py_any(py)
        }
        Kind::Uint | Kind::Int | Kind::Float => read(0),
    }
}

/// Rows and columns exchanged, as a view.
///
/// # Errors
/// `ValueError`: it has not two dimensions. What computing it says.
pub fn transposed(py: Python<'_>, array: &PyArray) -> PyResult<PyArray> {
    let &[rows, cols] = array.shape.extents() else {
        let ndim = array.shape.extents().len();
        let message = format!("T: {ndim} dimensions, 2 expected; use mT or permute_dims");
        return Err(PyValueError::new_err(message));
    };
    let leaf = array.leaf(py)?;
    let strides: Arc<[isize]> = Arc::new([leaf.strides[1], leaf.strides[0]]);
    let leaf = Leaf { strides, ..leaf };
    Ok(array.part(leaf, Shape::new([cols, rows])))
}

/// Computes an array, and what still has to read its memory, which is written next; in a `with` of the lock of all arrays.
#[pyfunction]
#[pyo3(signature = (array, /))]
pub fn before_write(py: Python<'_>, array: &PyArray) -> PyResult<()> {
    let _alone = alone(py)?;
    array.check_written()?;
    let leaf = array.leaf(py)?;
    compute_readers(py, &leaf.storage, &[])
}

/// A new array with the elements of memory of others, dense and of the same type; None where they are not.
#[pyfunction]
#[pyo3(signature = (values, device, dtype, /))]
pub fn taken(
    values: &Bound<'_, PyAny>,
    device: &Bound<'_, PyAny>,
    dtype: &Bound<'_, PyAny>,
) -> PyResult<Option<PyArray>> {
    let py = values.py();
    let (at, element) = (super::device::Device::of(device)?, Element::of(dtype)?);
    let Ok(bytes) = crate::dense::Dense::of(values) else {
        return Ok(None);
    };
    let shape = Shape::new(bytes.extents());
    if bytes.len() != shape.size() * element.size() {
        return Ok(None);
    }
    let made = PyArray::new(py, &at, &shape, element, false)?;
    bytes.write_to(py, made.leaf(py)?.storage.buffer())?;
    Ok(Some(made))
}

/// A new array of a list of floats, integers or bools alone; None of other lists, and of integers that int64 does not have. `types`
/// are those of these kinds.
#[pyfunction]
#[pyo3(signature = (list, device, types, /))]
pub fn listed(
    list: &Bound<'_, PyList>,
    device: &Bound<'_, PyAny>,
    types: (Bound<'_, PyAny>, Bound<'_, PyAny>, Bound<'_, PyAny>),
) -> PyResult<Option<PyArray>> {
    let py = list.py();
    let Ok(first) = list.get_item(0) else {
        return Ok(None);
    };
    let dtype = if first.is_exact_instance_of::<PyFloat>() {
        types.0
    } else if first.is_exact_instance_of::<PyInt>() {
        types.1
    } else if first.is_exact_instance_of::<PyBool>() {
        types.2
    } else {
        return Ok(None);
    };
    let (at, element) = (super::device::Device::of(device)?, Element::of(&dtype)?);
    let kind = first.get_type();
    let size = element.size();
    let mut bytes = Vec::with_capacity(list.len() * size);
    for object in list.iter() {
        if !object.get_type().is(&kind) {
            return Ok(None);
        }
        let Ok(bits) = dtype::to_bits(element.ty, &object) else {
            return Ok(None);
        };
        bytes.extend_from_slice(&bits.to_le_bytes()[..size]);
    }
    let made = PyArray::new(py, &at, &Shape::new([bytes.len() / size]), element, false)?;
    let leaf = made.leaf(py)?;
    py.detach(|| leaf.storage.buffer().write_bytes(0, &bytes))
        .or_raise()?;
    Ok(Some(made))
}
