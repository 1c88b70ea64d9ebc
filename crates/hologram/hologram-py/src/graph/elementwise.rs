//! The shortest way from an operator to a node, and from a reduction to its fold: arrays of one type and device, or an array and a
//! number of its kind.

use std::sync::Arc;

use hologram_backends::{BinaryOp, MapOp, Ty};
use hologram_core::expression::{FoldOp, StepOp};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};

use super::array::PyArray;
use super::compute::{fold_op, fold_value};
use super::element::{Element, Kind};
use super::node::{Node, Operation};
use super::shape::{broadcast, Shape};
use super::value::{Leaf, Number, Value};

/// An elementwise function that is one step on elements of some kinds; of complex numbers sums, differences, negatives and choices are
/// steps on their parts, which are computed at once.
#[pyclass(name = "Elementwise", module = "hologram", frozen)]
pub struct Elementwise {
    operation: Operation,
    kinds: Vec<Kind>,
    truth: bool,
}

/// Operand of a step besides elements of its type.
enum Operand<'a> {
    Array(&'a PyArray),
    Number(Number),
}

impl<'a> Operand<'a> {
    /// An array of a type on a device, or a number of its kind.
    fn of(object: &'a Bound<'_, PyAny>, like: &PyArray) -> Option<Self> {
        let Some(array) = array_of(object) else {
            return Number::of(object, like.element).map(Self::Number);
        };
        let fits = array.element.same(like.element) && Arc::ptr_eq(&array.device, &like.device);
        fits.then_some(Self::Array(array))
    }
}

impl Elementwise {
    /// True if it is one step on elements as those of an array, or on their parts.
    fn takes(&self, like: &PyArray) -> bool {
        is_plain(like.element, &self.kinds) || self.is_of_parts(like)
    }

    /// True of complex numbers whose parts are those of the result, on a device that has such floats: Apple's GPUs have no doubles.
    fn is_of_parts(&self, like: &PyArray) -> bool {
        use StepOp::{Binary, Map, Select};
        let of_parts = matches!(
            self.operation,
            Operation::Step(Binary(BinaryOp::Add | BinaryOp::Sub) | Map(MapOp::Neg) | Select)
        );
        let element = like.element;
        of_parts && element.kind == Kind::Complex && (element.ty == Ty::F32 || like.device.on_host)
    }

    /// Records the step of operands, whose arrays broadcast to one shape; None if they do not.
    fn record(
        &self,
        py: Python<'_>,
        like: &PyArray,
        operands: &[Operand<'_>],
    ) -> PyResult<Option<PyArray>> {
        let mut shape = like.shape.clone();
        for operand in operands {
            match operand {
                Operand::Array(array) if !array.has_shape(&shape) => {
                    let Some(found) = broadcast(shape.extents(), array.shape.extents()) else {
                        return Ok(None);
                    };
                    shape = Shape::asked(found)?;
                }
                Operand::Array(_) | Operand::Number(_) => {}
            }
        }
        if like.element.lanes > 1 {
            return self.compute_parts(py, like, operands, &shape).map(Some);
        }
        let args = operands.iter().map(|operand| match operand {
            Operand::Array(array) => array.value_in(py, &shape),
            Operand::Number(number) => Ok(Value::Number(*number)),
        });
        let args = args.collect::<PyResult<Vec<_>>>()?;
        let of = like.element;
        let result = if self.truth { Element::truth(py)? } else { of };
        let node = Node::new(self.operation, of.ty, args, result.ty, shape.clone());
        PyArray::recorded(py, Value::Node(node), &shape, result, &like.device).map(Some)
    }

    /// Computes the step of the parts of complex numbers in a shape, which are never recorded.
    fn compute_parts(
        &self,
        py: Python<'_>,
        like: &PyArray,
        operands: &[Operand<'_>],
        shape: &Arc<Shape>,
    ) -> PyResult<PyArray> {
        let of = like.element;
        let mut extents = shape.extents().to_vec();
        extents.push(of.lanes);
        let args = operands.iter().map(|operand| match operand {
            Operand::Array(array) => {
                let leaf = array.leaf_in(py, shape)?;
                Ok(Value::Leaf(leaf.parts(array.element.lanes)))
            }
            Operand::Number(number) => Ok(Value::Number(*number)),
        });
        let args = args.collect::<PyResult<Vec<_>>>()?;
        let parts = Shape::new(extents);
        let node = Node::new(self.operation, of.ty, args, of.ty, parts.clone());
        let made = PyArray::recorded(py, Value::Node(node), &parts, of, &like.device)?;
        let leaf = Leaf {
            strides: shape.dense().clone(),
            ..made.leaf(py)?
        };
        Ok(PyArray::over(leaf, shape.clone(), of))
    }
}

#[pymethods]
impl Elementwise {
    #[new]
    #[pyo3(signature = (operation, kinds, truth = false))]
    fn new(operation: &str, kinds: Vec<String>, truth: bool) -> PyResult<Self> {
        Ok(Self {
            operation: Operation::from_name(operation)?,
            kinds: kinds_of(&kinds)?,
            truth,
        })
    }

    /// Records the step of one array; None where that takes more.
    #[pyo3(signature = (x, /))]
    fn unary(&self, x: &Bound<'_, PyAny>) -> PyResult<Option<PyArray>> {
        let found = array_of(x).filter(|array| self.takes(array));
        let Some(array) = found else { return Ok(None) };
        self.record(x.py(), array, &[Operand::Array(array)])
    }

    /// Records the step of two arrays, or of an array and a number; None where that takes more.
    #[pyo3(signature = (x1, x2, /))]
    fn binary(&self, x1: &Bound<'_, PyAny>, x2: &Bound<'_, PyAny>) -> PyResult<Option<PyArray>> {
        let found = array_of(x1).or_else(|| array_of(x2));
        let Some(like) = found.filter(|like| self.takes(like)) else {
            return Ok(None);
        };
        let (Some(a), Some(b)) = (Operand::of(x1, like), Operand::of(x2, like)) else {
            return Ok(None);
        };
        self.record(x1.py(), like, &[a, b])
    }

    /// Records the choice of one of two values by truths; None where that takes more.
    #[pyo3(signature = (condition, x1, x2, /))]
    fn choice(
        &self,
        condition: &Bound<'_, PyAny>,
        x1: &Bound<'_, PyAny>,
        x2: &Bound<'_, PyAny>,
    ) -> PyResult<Option<PyArray>> {
        let found = array_of(x1).or_else(|| array_of(x2));
        let Some(like) = found.filter(|like| self.takes(like)) else {
            return Ok(None);
        };
        let truths = array_of(condition).filter(|truths| {
            truths.element.kind == Kind::Bool && Arc::ptr_eq(&truths.device, &like.device)
        });
        let (Some(truths), Some(a), Some(b)) =
            (truths, Operand::of(x1, like), Operand::of(x2, like))
        else {
            return Ok(None);
        };
        self.record(x1.py(), like, &[Operand::Array(truths), a, b])
    }
}

/// A fold of elements of some kinds that gives their type.
#[pyclass(name = "Fold", module = "hologram", frozen)]
pub struct Fold {
    op: FoldOp,
    kinds: Vec<Kind>,
}

#[pymethods]
impl Fold {
    #[new]
    fn new(operation: &str, kinds: Vec<String>) -> PyResult<Self> {
        Ok(Self {
            op: fold_op(operation)?,
            kinds: kinds_of(&kinds)?,
        })
    }

    /// The fold of all elements, or along one axis; None where that takes more.
    #[pyo3(signature = (x, axis, keepdims, /))]
    fn of(
        &self,
        x: &Bound<'_, PyAny>,
        axis: &Bound<'_, PyAny>,
        keepdims: &Bound<'_, PyAny>,
    ) -> PyResult<Option<PyArray>> {
        let found = array_of(x).filter(|x| is_plain(x.element, &self.kinds) && !x.shape.is_empty());
        let (Some(array), Ok(keepdims)) = (found, keepdims.cast_exact::<PyBool>()) else {
            return Ok(None);
        };
        let mut folded = vec![axis.is_none(); array.shape.extents().len()];
        if !axis.is_none() {
            let ndim = folded.len() as isize;
            let at = match axis
                .cast_exact::<PyInt>()
                .map(|axis| axis.extract::<isize>())
            {
                Ok(Ok(at)) if (-ndim..ndim).contains(&at) => at.rem_euclid(ndim),
                Ok(_) | Err(_) => return Ok(None),
            };
            folded[at as usize] = true;
        }
        let value = array.value_in(x.py(), &array.shape)?;
        let (keepdims, element) = (keepdims.is_true(), array.element);
        fold_value(x.py(), self.op, value, array, folded, keepdims, element).map(Some)
    }
}

/// True if elements of a type are of some kinds, and steps compute in it. Halves and complex numbers are not.
fn is_plain(element: &Element, kinds: &[Kind]) -> bool {
    element.lanes == 1 && !element.is_half() && kinds.contains(&element.kind)
}

fn kinds_of(names: &[String]) -> PyResult<Vec<Kind>> {
    names.iter().map(|name| Kind::from_name(name)).collect()
}

fn array_of<'a>(object: &'a Bound<'_, PyAny>) -> Option<&'a PyArray> {
    object.cast::<PyArray>().ok().map(Bound::get)
}
