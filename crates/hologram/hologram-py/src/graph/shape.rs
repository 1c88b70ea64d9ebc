//! Extents of arrays, and the strides of their elements.

use std::sync::{Arc, OnceLock};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;

use crate::errors::exception;

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

    /// A shape of Python.
    ///
    /// # Errors
    /// Something else than sizes.
    pub fn of(tuple: &Bound<'_, PyTuple>) -> PyResult<Arc<Self>> {
        let extents = tuple.iter().map(|extent| extent.extract::<usize>());
        let made = Self::new(extents.collect::<PyResult<Vec<_>>>()?);
        let kept = made.tuple.set(tuple.py(), tuple.clone().unbind());
        debug_assert!(kept.is_ok(), "a new shape has no tuple");
        Ok(made)
    }

    /// The extents.
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// Number of elements. Of a view that repeats elements it may be over what a word holds: then the largest number.
    pub fn size(&self) -> u128 {
        let product = |size: u128, &extent: &usize| size.saturating_mul(extent as u128);
        self.extents.iter().fold(1, product)
    }

    /// Number of elements that lie in memory of their own.
    ///
    /// # Errors
    /// No memory is so large.
    pub fn count(&self) -> PyResult<usize> {
        usize::try_from(self.size()).map_err(|_| {
            let message = format!("a buffer of {} elements", self.size());
            exception("OutOfMemoryError", message)
        })
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
                step = step.wrapping_mul(extent.max(1) as isize);
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
