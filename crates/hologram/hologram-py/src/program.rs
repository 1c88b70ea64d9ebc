//! `hologram.Program`.

use hologram_backends::Program;
use hologram_core::Error;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::OrRaise;

/// Instructions with labels.
#[pyclass(name = "Program", module = "hologram", frozen)]
pub struct PyProgram {
    inner: Program,
}

impl PyProgram {
    /// The program.
    pub fn inner(&self) -> &Program {
        &self.inner
    }
}

#[pymethods]
impl PyProgram {
    /// Reads assembly.
    #[new]
    fn new(text: &str) -> PyResult<Self> {
        let inner = text.parse::<Program>().map_err(Error::from).or_raise()?;
        Ok(Self { inner })
    }

    /// Reads what `to_bytes` gave.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        let inner = Program::from_bytes(data).map_err(Error::from).or_raise()?;
        Ok(Self { inner })
    }

    /// The serialised form.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.inner.to_bytes().map_err(Error::from).or_raise()?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn __str__(&self) -> String {
        self.inner.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<Program of {} instructions>", self.inner.len())
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.inner == other.inner
    }

    fn __hash__(&self) -> u64 {
        use std::hash::{DefaultHasher, Hash, Hasher};
        let mut hasher = DefaultHasher::new();
        self.inner.hash(&mut hasher);
        hasher.finish()
    }
}
