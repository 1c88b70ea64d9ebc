//! Extents of arrays, and the strides of their elements.

use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyInt, PyTuple};

use crate::errors::exception;

/// Limit of dimensions, the same as NumPy's.
const MOST_DIMENSIONS: usize = 64;
/// Limit of elements: memory has addresses for as many of 16 bytes.
const MOST_ELEMENTS: usize = isize::MAX as usize / 16;

/// Extents, which many arrays and nodes share.
pub struct Shape {
    extents: Box<[usize]>,
    dense: OnceLock<Arc<[isize]>>,
    tuple: PyOnceLock<Py<PyTuple>>,
}

impl Shape {
    /// A shape of these extents.
    pub fn new(extents: impl Into<Box<[usize]>>) -> Arc<Self> {
        Arc::new(Self {
            extents: extents.into(),
            dense: OnceLock::new(),
            tuple: PyOnceLock::new(),
        })
    }

    /// A shape of these extents, which somebody asked for.
    ///
    /// # Errors
    /// `ShapeError`: more dimensions than arrays have, or more elements than memory has addresses, without regard to extents of 0.
    pub fn asked(extents: Vec<usize>) -> PyResult<Arc<Self>> {
        let product = |size: usize, &extent: &usize| size.checked_mul(extent.max(1));
        let size = extents.iter().try_fold(1, product);
        if extents.len() > MOST_DIMENSIONS {
            let dims = extents.len();
            let message =
                format!("shape: {dims} dimensions, an array has at most {MOST_DIMENSIONS}");
            return Err(exception("ShapeError", message));
        }
        if size.is_none_or(|size| size > MOST_ELEMENTS) {
            return Err(too_large(text(&extents)));
        }
        Ok(Self::new(extents))
    }

    /// A shape of Python.
    ///
    /// # Errors
    /// Something else than sizes, and those of [`asked`](Self::asked).
    pub fn of(tuple: &Bound<'_, PyTuple>) -> PyResult<Arc<Self>> {
        let extents = tuple.iter().map(|extent| match extent.extract() {
            Err(_) if extent.is_instance_of::<PyInt>() => Err(too_large(tuple)),
            found => found,
        });
        let made = Self::asked(extents.collect::<PyResult<Vec<_>>>()?)?;
        let kept = made.tuple.set(tuple.py(), tuple.clone().unbind());
        debug_assert!(kept.is_ok(), "a new shape has no tuple");
        Ok(made)
    }

    /// The extents.
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// Number of elements.
    pub fn size(&self) -> usize {
        self.extents.iter().product()
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.extents.contains(&0)
    }

    /// Strides of row-major elements.
    pub fn dense(&self) -> &Arc<[isize]> {
        self.dense.get_or_init(|| {
            let mut strides = vec![0; self.extents.len()];
            let mut step = 1isize;
            for (stride, &extent) in strides.iter_mut().zip(&self.extents).rev() {
                *stride = step;
                step *= extent.max(1) as isize;
            }
            strides.into()
        })
    }

    /// Python's tuple of the shape.
    pub fn tuple<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let made = || PyTuple::new(py, self.extents.iter()).map(Bound::unbind);
        let tuple = self.tuple.get_or_try_init(py, made)?;
        Ok(tuple.bind(py).clone())
    }
}

fn too_large(shape: impl Display) -> PyErr {
    let message = format!("shape: {shape}, an array has at most {MOST_ELEMENTS} elements");
    exception("ShapeError", message)
}

/// A shape as text.
pub fn text(extents: &[usize]) -> String {
    let listed: Vec<String> = extents.iter().map(usize::to_string).collect();
    let comma = if extents.len() == 1 { "," } else { "" };
    format!("({}{comma})", listed.join(", "))
}

/// Strides with which a view has a larger shape.
///
/// # Errors
/// `ShapeError`: it does not broadcast to it.
pub fn broadcast_strides(
    shape: &[usize],
    strides: &[isize],
    wanted: &[usize],
) -> PyResult<Vec<isize>> {
    let misfit = || {
        let message = format!(
            "shape {} does not broadcast to {}",
            text(shape),
            text(wanted)
        );
        exception("ShapeError", message)
    };
    let lead = wanted.len().checked_sub(shape.len()).ok_or_else(misfit)?;
    let mut found = vec![0; lead];
    for ((&extent, &stride), &to) in shape.iter().zip(strides).zip(&wanted[lead..]) {
        if extent != 1 && extent != to {
            return Err(misfit());
        }
        found.push(if extent == to { stride } else { 0 });
    }
    Ok(found)
}

/// True if strides show an element several times.
pub fn repeats(shape: &[usize], strides: &[isize]) -> bool {
    let mut dims = shape.iter().zip(strides);
    dims.any(|(&extent, &stride)| extent > 1 && stride == 0)
}

/// The shape that both broadcast to, unless their extents differ where none is 1.
pub fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let mut found = long.to_vec();
    for (to, &extent) in found[long.len() - short.len()..].iter_mut().zip(short) {
        if *to == 1 {
            *to = extent;
        } else if extent != 1 && extent != *to {
            return None;
        }
    }
    Some(found)
}
