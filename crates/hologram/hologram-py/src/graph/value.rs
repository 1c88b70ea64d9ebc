//! Operands of steps: elements in memory, numbers, and other steps.

use std::sync::Arc;

use hologram_backends::Ty;
use hologram_core::expression::Strided;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyTuple};

use super::element::{Element, Kind};
use super::node::{Node, Operation};
use super::shape::Shape;
use super::storage::Storage;
use crate::dtype;
use crate::errors::exception;
use crate::names;

/// Elements in memory: the one with all indices 0, and elements along each dimension of the graph's shape.
#[derive(Clone)]
pub struct Leaf {
    /// Memory.
    pub storage: Arc<Storage>,
    /// Element with all indices 0.
    pub offset: usize,
    /// Elements along each dimension.
    pub strides: Arc<[isize]>,
}

impl Leaf {
    /// Type of the elements.
    pub fn ty(&self) -> Ty {
        self.storage.buffer().ty()
    }

    /// The elements as the core has them.
    pub fn strided(&self) -> Strided<'_> {
        Strided {
            buffer: self.storage.buffer(),
            offset: self.offset,
            strides: &self.strides,
        }
    }

    /// The elements of the buffer, of which each of the array's is `lanes`, along a last dimension; one is repeated along it.
    pub fn parts(&self, lanes: usize) -> Self {
        let wide = self.strides.iter().map(|stride| stride * lanes as isize);
        Self {
            storage: self.storage.clone(),
            offset: self.offset * lanes,
            strides: wide.chain([isize::from(lanes > 1)]).collect(),
        }
    }

    /// True if both are the same elements in the same order.
    pub fn same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.storage, &other.storage) && self.same_place(other)
    }

    /// True if both are the same elements of their memory.
    pub fn same_place(&self, other: &Self) -> bool {
        self.offset == other.offset && self.strides == other.strides
    }
}

/// A number as an element of a type. Equal ones have equal bits, so that 0.0 and -0.0 are two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Number {
    /// The type.
    pub ty: Ty,
    /// The bits.
    pub bits: u64,
}

impl Number {
    /// A number of Python as an element, exactly: of the element's kind or a lower one, and in its range.
    pub fn of(object: &Bound<'_, PyAny>, element: &Element) -> Option<Self> {
        let kind = if object.is_exact_instance_of::<PyFloat>() {
            Kind::Float
        } else if object.is_exact_instance_of::<PyInt>() {
            Kind::Uint
        } else if object.is_exact_instance_of::<PyBool>() {
            Kind::Bool
        } else {
            return None;
        };
        if kind > element.kind || element.lanes != 1 {
            return None;
        }
        let bits = dtype::to_bits(element.ty, object).ok()?;
        Some(Self {
            ty: element.ty,
            bits,
        })
    }
}

/// Value that a step reads.
#[derive(Clone)]
pub enum Value {
    /// Elements in memory.
    Leaf(Leaf),
    /// A number.
    Number(Number),
    /// The result of a step.
    Node(Arc<Node>),
}

impl Value {
    /// Type of its elements.
    pub fn ty(&self) -> Ty {
        match self {
            Self::Leaf(leaf) => leaf.ty(),
            Self::Number(number) => number.ty,
            Self::Node(node) => node.ty,
        }
    }

    /// Current form: of a node that was computed, the place of its elements.
    pub fn settled(self) -> Self {
        match self {
            Self::Node(node) => node.leaf().map_or(Self::Node(node), Self::Leaf),
            other => other,
        }
    }
}

/// Elements in memory, a number, or the result of a step, over the shape of a graph.
#[pyclass(name = "Value", module = "hologram", frozen)]
pub struct PyValue(pub Value);

#[pymethods]
impl PyValue {
    /// Type of the elements.
    #[getter(r#type)]
    fn ty(&self) -> &'static str {
        names::name(self.0.ty())
    }
}

fn ty(name: &str) -> PyResult<Ty> {
    names::find(name).ok_or_else(|| exception("DTypeError", format!("`{name}` is no element type")))
}

/// A number as an element of a type, by the buffer's name.
#[pyfunction]
#[pyo3(signature = (value, r#type, /))]
pub fn number(value: &Bound<'_, PyAny>, r#type: &str) -> PyResult<PyValue> {
    let ty = ty(r#type)?;
    let bits = dtype::to_bits(ty, value)?;
    Ok(PyValue(Value::Number(Number { ty, bits })))
}

/// The number that an element of a type is, by the buffer's name: rounded to the nearest one.
#[pyfunction]
#[pyo3(signature = (value, r#type, /))]
pub fn rounded(value: &Bound<'_, PyAny>, r#type: &str) -> PyResult<Py<PyAny>> {
    let ty = ty(r#type)?;
    dtype::from_bits(value.py(), ty, dtype::to_bits(ty, value)?)
}

/// A step: `operation` on elements of type `of`, which gives elements of a type in a shape. Truths are uint8, 0 or 1.
#[pyfunction]
#[pyo3(signature = (operation, of, args, r#type, shape, /))]
pub fn step(
    operation: &str,
    of: &str,
    args: Vec<PyRef<'_, PyValue>>,
    r#type: &str,
    shape: &Bound<'_, PyTuple>,
) -> PyResult<PyValue> {
    let operation = match operation.strip_prefix("convert.") {
        Some(to) => Operation::convert(ty(to)?),
        None => Operation::from_name(operation)?,
    };
    let args = args.iter().map(|arg| arg.0.clone()).collect();
    let made = Node::new(operation, ty(of)?, args, ty(r#type)?, Shape::of(shape)?);
    Ok(PyValue(Value::Node(made)))
}
