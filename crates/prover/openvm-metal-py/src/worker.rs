//! `openvm_metal.SegmentWorker`.

use std::sync::{
    atomic::{AtomicBool, Ordering},
    Arc, Mutex, PoisonError,
};

use openvm_metal_sdk::{engine::MetalEngine, tasks::SegmentWorker, ProveOptions};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::codec;
use crate::progress::Watcher;
use crate::work::{self, Own};

/// Proves any segment of a plan.
#[pyclass(name = "SegmentWorker", module = "openvm_metal", frozen)]
pub struct PySegmentWorker {
    worker: Own<SegmentWorker<MetalEngine>>,
    running: Mutex<Vec<Call>>,
}

/// A call of `prove` that has not returned.
struct Call {
    segment: usize,
    /// Name that its caller gave it.
    name: Option<u64>,
    stop: Arc<AtomicBool>,
}

impl PySegmentWorker {
    pub fn new(worker: SegmentWorker<MetalEngine>) -> Self {
        Self {
            worker: Own::new(worker),
            running: Mutex::default(),
        }
    }

    fn running<T>(&self, with: impl FnOnce(&mut Vec<Call>) -> T) -> T {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        with(&mut running)
    }
}

#[pymethods]
impl PySegmentWorker {
    #[pyo3(signature = (index, *, call = None, progress = None))]
    fn prove<'py>(
        &self,
        py: Python<'py>,
        index: usize,
        call: Option<u64>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let function = progress.as_ref();
        let bytes = work::run(py, |stop| {
            let began = Call {
                segment: index,
                name: call,
                stop: stop.flag.clone(),
            };
            self.running(|running| running.push(began));
            let watcher = Watcher { function, stop };
            let options = ProveOptions::default()
                .with_progress(&watcher)
                .with_cancel(&stop.flag);
            let proof = self.worker.prove(index, &options);
            self.running(|running| running.retain(|call| !Arc::ptr_eq(&call.stop, &stop.flag)));
            codec::encode("a proof", &proof?)
        })?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[pyo3(signature = (index, *, call = None))]
    fn cancel(&self, index: usize, call: Option<u64>) {
        self.running(|running| {
            let meant = |running: &&Call| {
                running.segment == index && (call.is_none() || running.name == call)
            };
            for call in running.iter().filter(meant) {
                call.stop.store(true, Ordering::Relaxed);
            }
        });
    }

    fn end<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = work::run(py, |_| codec::encode_values(&self.worker.end()?))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[getter]
    fn waiting(&self) -> usize {
        self.worker.waiting()
    }
}
