//! `openvm_metal.SegmentWorker`.

use openvm_metal_sdk::{engine::MetalEngine, tasks::SegmentWorker, ProveOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::codec;
use crate::work::{self, Own};

/// Proves any segment of a plan.
#[pyclass(name = "SegmentWorker", module = "openvm_metal", frozen)]
pub struct PySegmentWorker(Own<SegmentWorker<MetalEngine>>);

impl PySegmentWorker {
    pub fn new(worker: SegmentWorker<MetalEngine>) -> Self {
        Self(Own::new(worker))
    }
}

#[pymethods]
impl PySegmentWorker {
    fn prove<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = work::run(py, |stop| {
            let options = ProveOptions::default().with_cancel(&stop.flag);
            let proof = self.0.prove(index, &options)?;
            codec::encode("a proof", &proof)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn end<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = work::run(py, |_| codec::encode_values(&self.0.end()?))?;
        Ok(PyBytes::new(py, &bytes))
    }
}
