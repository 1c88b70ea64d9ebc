//! `openvm_metal.SegmentWorker`.

use std::sync::{
    atomic::{AtomicBool, Ordering},
    Arc, Mutex, PoisonError,
};

use openvm_metal_sdk::{engine::MetalEngine, tasks::SegmentWorker, ProveOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::codec;
use crate::work::{self, Own};

/// Proves any segment of a plan.
#[pyclass(name = "SegmentWorker", module = "openvm_metal", frozen)]
pub struct PySegmentWorker {
    worker: Own<SegmentWorker<MetalEngine>>,
    /// Segments that are proved now, with what stops each.
    running: Mutex<Vec<(usize, Arc<AtomicBool>)>>,
}

impl PySegmentWorker {
    pub fn new(worker: SegmentWorker<MetalEngine>) -> Self {
        Self {
            worker: Own::new(worker),
            running: Mutex::default(),
        }
    }

    fn running<T>(&self, with: impl FnOnce(&mut Vec<(usize, Arc<AtomicBool>)>) -> T) -> T {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        with(&mut running)
    }
}

#[pymethods]
impl PySegmentWorker {
    fn prove<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = work::run(py, |stop| {
            self.running(|running| running.push((index, stop.flag.clone())));
            let options = ProveOptions::default().with_cancel(&stop.flag);
            let proof = self.worker.prove(index, &options);
            self.running(|running| running.retain(|(_, flag)| !Arc::ptr_eq(flag, &stop.flag)));
            codec::encode("a proof", &proof?)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn cancel(&self, index: usize) {
        self.running(|running| {
            for (_, stop) in running.iter().filter(|(segment, _)| *segment == index) {
                stop.store(true, Ordering::Relaxed);
            }
        });
    }

    fn end<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = work::run(py, |_| codec::encode_values(&self.worker.end()?))?;
        Ok(PyBytes::new(py, &bytes))
    }
}
