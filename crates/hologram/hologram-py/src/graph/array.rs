//! `hologram.Array`.

use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::IntoPyObjectExt;

use super::device::Device;
use super::element::Element;
use super::lock;
use super::node::{Node, Operation};
use super::shape::{broadcast_strides, repeats, Shape};
use super::storage::{PyStorage, Storage};
use super::value::{Leaf, PyValue, Value};
use super::{compute, index, MOST_STEPS};
use crate::errors::exception;

/// Contents of an array.
#[derive(Clone)]
pub enum Content {
    /// Elements in memory.
    Memory(Leaf),
    /// A step that was not computed when it was last looked at.
    Recorded(Arc<Node>),
}

/// Current contents of an array. The array alone keeps it: a node whose slot is gone is shown by nobody.
pub struct Slot(Mutex<Content>);

impl Slot {
    /// A slot that no node knows yet.
    pub fn new(content: Content) -> Arc<Self> {
        Arc::new(Self(Mutex::new(content)))
    }

    /// Contents of the slot.
    pub fn content(&self) -> Content {
        lock(&self.0).clone()
    }

    /// Holds something else from now on.
    pub fn set(&self, content: Content) {
        let old = mem::replace(&mut *lock(&self.0), content);
        // Goes without the lock.
        drop(old);
    }

    /// Holds elements in memory from now on.
    pub fn settle(&self, leaf: Leaf) {
        self.set(Content::Memory(leaf));
    }

    /// Holds a node's elements in memory from now on, if it holds this node.
    pub fn settle_node(&self, node: &Node, leaf: Leaf) {
        let mut content = lock(&self.0);
        let old = match &*content {
            Content::Recorded(held) if ptr::eq(&**held, node) => {
                mem::replace(&mut *content, Content::Memory(leaf))
            }
            // Something else was written into the array since.
            Content::Recorded(_) | Content::Memory(_) => return,
        };
        drop(content);
        // Goes without the lock.
        drop(old);
    }
}

/// Elements of one type in a shape, on a device; made by `hologram.asarray` and the functions of `hologram.array`.
///
/// Elementwise operations are recorded and computed together when a value is needed. Slices, transposes, broadcasts and most
/// reshapes are views: they share memory, and what is written through one is seen through the others.
#[pyclass(name = "Array", module = "hologram", frozen, weakref)]
pub struct PyArray {
    /// Extents.
    pub shape: Arc<Shape>,
    /// Type of the elements.
    pub element: &'static Element,
    /// Device of the elements.
    pub device: Arc<Device>,
    /// Slot with the contents.
    pub slot: Arc<Slot>,
    /// Mark of a broadcast view that shows elements several times, or of a part of one: these are not written.
    #[pyo3(get)]
    readonly: bool,
}

impl PyArray {
    /// An array over memory.
    pub fn over(leaf: Leaf, shape: Arc<Shape>, element: &'static Element) -> Self {
        Self {
            shape,
            element,
            device: leaf.storage.device.clone(),
            slot: Slot::new(Content::Memory(leaf)),
            readonly: false,
        }
    }

    /// A view of the array's memory.
    pub fn part(&self, leaf: Leaf, shape: Arc<Shape>) -> Self {
        Self {
            readonly: self.readonly,
            ..Self::over(leaf, shape, self.element)
        }
    }

    /// A new row-major array, whose elements are all written next unless they are `zeroed`.
    ///
    /// # Errors
    /// Those of [`Storage::allocate`].
    pub fn new(
        py: Python<'_>,
        device: &Arc<Device>,
        shape: &Arc<Shape>,
        element: &'static Element,
        zeroed: bool,
    ) -> PyResult<Self> {
        let count = shape.size() * element.lanes;
        let storage = Storage::allocate(py, device, count, element.ty, zeroed)?;
        let leaf = Leaf {
            storage,
            offset: 0,
            strides: shape.dense().clone(),
        };
        Ok(Self::over(leaf, shape.clone(), element))
    }

    /// An array that shows a value; computed at once where the graph is large or reads memory that may change.
    ///
    /// # Errors
    /// Those of [`compute::compute`].
    pub fn recorded(
        py: Python<'_>,
        value: Value,
        shape: &Arc<Shape>,
        element: &'static Element,
        device: &Arc<Device>,
    ) -> PyResult<Self> {
        let node = match value {
            Value::Node(node) if !node.is_computed() && !node.is_shown() => node,
            // A copy of elements or of a number is a step, too.
            other => {
                let ty = other.ty();
                Node::new(Operation::Copy, ty, vec![other], ty, shape.clone())
            }
        };
        let slot = Slot::new(Content::Recorded(node.clone()));
        node.show_by(Arc::downgrade(&slot));
        let made = Self {
            shape: shape.clone(),
            element,
            device: device.clone(),
            slot,
            readonly: false,
        };
        if node.eager || node.steps > MOST_STEPS {
            compute::compute(py, &made)?;
        }
        Ok(made)
    }

    /// The node that it shows, if it is not computed.
    pub fn node(&self) -> Option<Arc<Node>> {
        match self.slot.content() {
            Content::Recorded(node) => Some(node),
            Content::Memory(_) => None,
        }
    }

    /// Place of the elements, computed now if they were not.
    ///
    /// # Errors
    /// Those of [`compute::compute`].
    pub fn leaf(&self, py: Python<'_>) -> PyResult<Leaf> {
        match self.slot.content() {
            Content::Memory(leaf) => Ok(leaf),
            Content::Recorded(_) => compute::compute(py, self),
        }
    }

    /// The array's memory, broadcast to a shape.
    ///
    /// # Errors
    /// It does not broadcast to it, and those of [`compute::compute`].
    pub fn leaf_in(&self, py: Python<'_>, shape: &Shape) -> PyResult<Leaf> {
        let leaf = self.leaf(py)?;
        if self.has_shape(shape) {
            return Ok(leaf);
        }
        let strides = broadcast_strides(self.shape.extents(), &leaf.strides, shape.extents())?;
        Ok(Leaf {
            strides: strides.into(),
            ..leaf
        })
    }

    /// The array as part of a graph of a shape: its own graph, if the shape is its own.
    ///
    /// # Errors
    /// Those of [`PyArray::leaf_in`].
    pub fn value_in(&self, py: Python<'_>, shape: &Shape) -> PyResult<Value> {
        if self.has_shape(shape) {
            if let Some(node) = self.node() {
                return Ok(Value::Node(node));
            }
        }
        self.leaf_in(py, shape).map(Value::Leaf)
    }

    /// Refuses to write into a broadcast view, which shows elements several times, or into a part of one.
    ///
    /// # Errors
    /// `ArgumentError`: it is one.
    pub fn check_written(&self) -> PyResult<()> {
        if !self.readonly {
            return Ok(());
        }
        let message = "the destination is a broadcast view, which is read-only: write into a copy";
        Err(exception("ArgumentError", message.into()))
    }

    /// True if its shape is this one.
    pub fn has_shape(&self, shape: &Shape) -> bool {
        let (own, other) = (self.shape.extents(), shape.extents());
        // Most have one or two extents: a call of `memcmp` takes longer.
        let are_equal = || own.iter().zip(other).all(|(a, b)| a == b);
        std::ptr::eq(&*self.shape, shape) || (own.len() == other.len() && are_equal())
    }
}

#[pymethods]
impl PyArray {
    #[new]
    #[pyo3(signature = (*_args, **_named))]
    fn refused(_args: &Bound<'_, PyTuple>, _named: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let message = "Array: made by hologram.asarray and the functions of hologram.array";
        Err(PyTypeError::new_err(message))
    }

    /// Extents.
    #[getter(shape)]
    fn shape_tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.shape.tuple(py)
    }

    /// Type of the elements.
    #[getter]
    fn dtype(&self, py: Python<'_>) -> Py<PyAny> {
        self.element.object(py)
    }

    /// Device of the elements.
    #[getter(device)]
    fn device_object(&self, py: Python<'_>) -> Py<PyAny> {
        self.device.object(py)
    }

    /// x[key]
    fn __getitem__<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        index::get(slf, key)
    }

    /// x[key] = value
    fn __setitem__(
        slf: &Bound<'_, Self>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        index::put(slf, key, value)
    }

    /// The view of a key of integers, slices, `...` and `None`; None of other keys.
    #[pyo3(signature = (key, /))]
    fn basic_view(&self, key: &Bound<'_, PyTuple>) -> PyResult<Option<Self>> {
        index::view(self, key.as_any())
    }

    /// The elements repeated along new and single dimensions, as a view.
    #[pyo3(signature = (shape, /))]
    fn broadcast(&self, shape: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let wanted = Shape::of(shape)?;
        let leaf = self.leaf_in(shape.py(), &wanted)?;
        let readonly = self.readonly || repeats(wanted.extents(), &leaf.strides);
        Ok(Self {
            readonly,
            ..Self::over(leaf, wanted, self.element)
        })
    }

    /// Rows and columns exchanged, as a view; of two dimensions.
    #[getter(T)]
    fn transposed(&self, py: Python<'_>) -> PyResult<Self> {
        index::transposed(py, self)
    }

    /// The one element as a number of Python.
    fn item(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        index::item(py, self)
    }

    /// Number of dimensions.
    #[getter]
    fn ndim(&self) -> usize {
        self.shape.extents().len()
    }

    /// Number of elements.
    #[getter]
    fn size(&self) -> usize {
        self.shape.size()
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> usize {
        self.shape.size() * self.element.size()
    }

    /// Bytes from one index to the next along each dimension, as NumPy's; computes the array.
    #[getter]
    fn strides<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let leaf = self.leaf(py)?;
        let size = self.element.size() as isize;
        PyTuple::new(py, leaf.strides.iter().map(|stride| stride * size))
    }

    /// True if operations are recorded that were not computed yet.
    #[getter]
    fn pending(&self) -> bool {
        self.node().is_some()
    }

    /// Memory, offset and strides in elements, computed now if they were not.
    fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let leaf = self.leaf(py)?;
        let strides = PyTuple::new(py, leaf.strides.iter())?;
        let storage = PyStorage(leaf.storage).into_py_any(py)?;
        (storage, leaf.offset, strides).into_pyobject(py)
    }

    /// Computes what is recorded; the array itself.
    fn compute(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        if let Content::Recorded(_) = slf.get().slot.content() {
            compute::compute(slf.py(), slf.get())?;
        }
        Ok(slf)
    }

    /// The same memory in another shape, and as another type if one is given; offset and strides in elements.
    #[pyo3(signature = (shape, offset, strides, dtype = None))]
    fn view(
        &self,
        py: Python<'_>,
        shape: &Bound<'_, PyTuple>,
        offset: usize,
        strides: &Bound<'_, PyTuple>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let strides = strides.iter().map(|stride| stride.extract());
        let leaf = Leaf {
            offset,
            strides: strides.collect::<PyResult<_>>()?,
            ..self.leaf(py)?
        };
        let element = dtype.map_or(Ok(self.element), Element::of)?;
        Ok(Self {
            element,
            ..self.part(leaf, Shape::of(shape)?)
        })
    }
}

/// A new row-major array, whose elements are all written next unless they are `zeroed`.
#[pyfunction]
#[pyo3(signature = (device, shape, dtype, zeroed = false))]
pub fn new(
    device: &Bound<'_, PyAny>,
    shape: &Bound<'_, PyTuple>,
    dtype: &Bound<'_, PyAny>,
    zeroed: bool,
) -> PyResult<PyArray> {
    let (at, shape) = (Device::of(device)?, Shape::of(shape)?);
    PyArray::new(device.py(), &at, &shape, Element::of(dtype)?, zeroed)
}

/// An array that shows a value; computed at once where the graph is large or reads memory that may change.
#[pyfunction]
#[pyo3(signature = (value, shape, dtype, device, /))]
pub fn recorded(
    value: &PyValue,
    shape: &Bound<'_, PyTuple>,
    dtype: &Bound<'_, PyAny>,
    device: &Bound<'_, PyAny>,
) -> PyResult<PyArray> {
    let (shape, at) = (Shape::of(shape)?, Device::of(device)?);
    let (value, element) = (value.0.clone(), Element::of(dtype)?);
    PyArray::recorded(device.py(), value, &shape, element, &at)
}

/// The array as part of a graph of a shape: its own graph, if the shape is its own.
#[pyfunction]
#[pyo3(signature = (array, shape, /))]
pub fn value_of(array: &PyArray, shape: &Bound<'_, PyTuple>) -> PyResult<PyValue> {
    let wanted = Shape::of(shape)?;
    array.value_in(shape.py(), &wanted).map(PyValue)
}
