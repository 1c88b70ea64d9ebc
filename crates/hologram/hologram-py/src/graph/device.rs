//! Devices that arrays live on: `hologram.device` has one object for each.

use std::sync::{Arc, Mutex};

use hologram_core::Executor;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::lock;
use crate::executor::PyExecutor;

static KNOWN: Mutex<Vec<Arc<Device>>> = Mutex::new(Vec::new());

/// Device of arrays; equal ones are one.
pub struct Device {
    object: Py<PyAny>,
    executor: PyOnceLock<Py<PyExecutor>>,
    /// True if its memory is the host's.
    pub on_host: bool,
}

impl Device {
    /// The device that an object of Python is.
    ///
    /// # Errors
    /// It is none.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        let known = |devices: &[Arc<Self>]| {
            let found = devices.iter().find(|known| known.object.is(object));
            found.cloned()
        };
        if let Some(found) = known(&lock(&KNOWN)) {
            return Ok(found);
        }
        let made = Arc::new(Self {
            on_host: object.getattr("on_host")?.extract()?,
            executor: PyOnceLock::new(),
            object: object.clone().unbind(),
        });
        let mut devices = lock(&KNOWN);
        if let Some(found) = known(&devices) {
            return Ok(found);
        }
        devices.push(made.clone());
        Ok(made)
    }

    /// Python's object for it.
    pub fn object(&self, py: Python<'_>) -> Py<PyAny> {
        self.object.clone_ref(py)
    }

    /// The executor.
    ///
    /// # Errors
    /// The device is missing; the executor was closed, or is another process's.
    pub fn executor(&self, py: Python<'_>) -> PyResult<Executor> {
        let opened = self.executor.get_or_try_init(py, || {
            let opened = self.object.bind(py).getattr("executor")?;
            Ok::<_, PyErr>(opened.cast_into::<PyExecutor>()?.unbind())
        })?;
        opened.get().get()
    }
}
