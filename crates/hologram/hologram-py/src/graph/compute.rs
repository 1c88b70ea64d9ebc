//! Computation of values when they are needed.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use hologram_core::expression::FoldOp;
use pyo3::prelude::*;

use super::alone::alone;
use super::array::{Content, PyArray};
use super::device::Device;
use super::element::Element;
use super::linearise::linearise;
use super::node::Node;
use super::pass::{place, Fold, Pass};
use super::shape::Shape;
use super::storage::Storage;
use super::value::{Leaf, PyValue, Value};
use crate::errors::exception;

/// The node and all below it whose arrays are alive: they are computed in the same pass.
fn kept(root: &Arc<Node>) -> Vec<Arc<Node>> {
    let mut found = vec![root.clone()];
    let mut seen = vec![Arc::as_ptr(root)];
    let mut rest = root.args();
    while let Some(value) = rest.pop() {
        let Value::Node(node) = value else { continue };
        if node.is_computed() || seen.contains(&Arc::as_ptr(&node)) {
            continue;
        }
        seen.push(Arc::as_ptr(&node));
        rest.extend(node.args());
        if node.is_shown() {
            found.push(node);
        }
    }
    found
}

/// Computes an array, and recorded ones that are alive on the way; where it is.
///
/// # Errors
/// Out of memory, the device, Ctrl-C while another thread computes.
pub fn compute(py: Python<'_>, array: &PyArray) -> PyResult<Leaf> {
    let _alone = alone(py)?;
    let root = match array.slot.content() {
        Content::Memory(leaf) => return Ok(leaf),
        Content::Recorded(root) => root,
    };
    if let Some(leaf) = root.leaf() {
        // Computed for another.
        array.slot.settle(leaf.clone());
        return Ok(leaf);
    }
    let leaf = compute_node(py, &array.device, &root)?;
    // The root's array may be shown by another by now.
    array.slot.settle(leaf.clone());
    Ok(leaf)
}

/// Computes a node, and those below it whose arrays are alive; where it is.
fn compute_node(py: Python<'_>, device: &Arc<Device>, root: &Arc<Node>) -> PyResult<Leaf> {
    let places = compute_together(py, device, &root.shape, &kept(root), None)?;
    Ok(places[0].clone())
}

/// Computes nodes over a shape, and a fold of a value, in one pass; where the nodes are.
fn compute_together(
    py: Python<'_>,
    device: &Arc<Device>,
    shape: &Shape,
    nodes: &[Arc<Node>],
    fold: Option<(Value, Fold)>,
) -> PyResult<Vec<Leaf>> {
    let places = nodes
        .iter()
        .map(|node| place(py, device, shape, node.ty))
        .collect::<PyResult<Vec<_>>>()?;
    let mut roots: Vec<Value> = nodes.iter().cloned().map(Value::Node).collect();
    roots.extend(fold.iter().map(|(value, _)| value.clone()));
    let (steps, values) = linearise(&roots);
    let written = values.iter().copied().zip(places.iter().cloned());
    let pass = Pass {
        device,
        shape: shape.extents(),
        steps: &steps,
        outputs: written.collect(),
        fold: fold.map(|(_, fold)| (values[nodes.len()], fold)),
    };
    pass.run(py)?;
    for (node, at) in nodes.iter().zip(&places) {
        node.settle(at);
    }
    Ok(places)
}

/// Computes what still has to read memory that may change next; `inner` are nodes that nobody needs afterwards.
///
/// # Errors
/// Those of [`compute`]. What is not computed then is still noted as a reader.
pub fn compute_readers(py: Python<'_>, storage: &Storage, inner: &[*const Node]) -> PyResult<()> {
    let readers = storage.readers.take();
    let noted: Vec<Weak<Node>> = readers.iter().map(Arc::downgrade).collect();
    for node in needed(readers, inner) {
        if node.is_computed() {
            // Its user was computed first.
            continue;
        }
        if let Err(error) = compute_node(py, &storage.device, &node) {
            let left = noted.iter().filter_map(Weak::upgrade);
            left.filter(|reader| !reader.is_computed())
                .for_each(|reader| storage.readers.add(&reader));
            return Err(error);
        }
    }
    Ok(())
}

/// Nodes to compute so that nobody needs the given ones afterwards. A node to which one other node refers, and nothing else, is
/// left to that one.
fn needed(nodes: Vec<Arc<Node>>, inner: &[*const Node]) -> Vec<Arc<Node>> {
    let inner: HashSet<*const Node> = inner.iter().copied().collect();
    let (mut known, mut found) = (HashSet::new(), Vec::new());
    let mut is_new = |node: &Arc<Node>| known.insert(Arc::as_ptr(node));
    let mut rest: Vec<Arc<Node>> = nodes.into_iter().filter(&mut is_new).collect();
    while let Some(node) = rest.pop() {
        if node.is_computed() || inner.contains(&Arc::as_ptr(&node)) {
            continue;
        }
        // One more reference is that of this loop.
        let is_only = |user: &Arc<Node>| Arc::strong_count(&node) == user.uses_of(&node) + 1;
        match node.only_user() {
            Some(user) if is_only(&user) => rest.extend(Some(user).filter(&mut is_new)),
            Some(_) | None => found.push(node),
        }
    }
    found
}

/// The fold of a value, made from `array`'s graph, along axes of the array's shape. Elements of the result are `dtype`'s buffer
/// type.
///
/// A recorded array is computed on the way and not kept the first time; the second time it is kept.
#[pyfunction]
#[pyo3(signature = (operation, value, array, axes, keepdims, dtype, /))]
pub fn fold(
    operation: &str,
    value: &Bound<'_, PyValue>,
    array: &PyArray,
    axes: Vec<usize>,
    keepdims: bool,
    dtype: &Bound<'_, PyAny>,
) -> PyResult<PyArray> {
    let op = fold_op(operation)?;
    let folded: Vec<bool> = (0..array.shape.extents().len())
        .map(|d| axes.contains(&d))
        .collect();
    let (value, element) = (value.get().0.clone(), Element::of(dtype)?);
    fold_value(dtype.py(), op, value, array, folded, keepdims, element)
}

/// The fold called `name`.
///
/// # Errors
/// None is.
pub fn fold_op(name: &str) -> PyResult<FoldOp> {
    let unknown = || exception("ArgumentError", format!("no fold `{name}`"));
    FoldOp::from_name(name).ok_or_else(unknown)
}

/// Does the work of [`fold`]; `folded` says which dimensions it goes along.
///
/// # Errors
/// Those of [`compute`].
pub fn fold_value(
    py: Python<'_>,
    op: FoldOp,
    value: Value,
    array: &PyArray,
    folded: Vec<bool>,
    keepdims: bool,
    element: &'static Element,
) -> PyResult<PyArray> {
    let extents = array.shape.extents();
    let dims = || extents.iter().zip(&folded);
    let ones: Vec<usize> = dims().map(|(&e, &gone)| if gone { 1 } else { e }).collect();
    let ones = Shape::new(ones);
    let left = dims().filter(|(_, gone)| !**gone).map(|(&e, _)| e);
    let shape = Shape::new(left.collect::<Vec<_>>());

    let _alone = alone(py)?;
    let result = place(py, &array.device, &ones, element.ty)?;
    let strides = ones.dense().iter().zip(&folded);
    let strides = strides.map(|(&stride, &gone)| if gone { 0 } else { stride });
    let target = Leaf {
        strides: strides.collect(),
        ..result.clone()
    };
    let mut outputs = Vec::new();
    if let Some(node) = array.node().filter(|node| !node.is_computed()) {
        outputs = kept(&node);
        if node.count_fold() == 1 {
            outputs.remove(0);
        }
    }
    let fold = Fold { op, folded, target };
    compute_together(
        py,
        &array.device,
        &array.shape,
        &outputs,
        Some((value, fold)),
    )?;
    if keepdims {
        return Ok(PyArray::over(result, ones, element));
    }
    let strides = shape.dense().clone();
    Ok(PyArray::over(Leaf { strides, ..result }, shape, element))
}
