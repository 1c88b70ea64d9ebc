//! Memory of arrays: a buffer, and who still has to read it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use hologram_backends::Ty;
use hologram_core::DynBuffer;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use super::alone::alone;
use super::compute::compute_readers;
use super::device::Device;
use super::readers::Readers;
use crate::buffer::PyBuffer;
use crate::dtype;
use crate::errors::OrRaise;
use crate::process::Own;

/// A buffer that arrays and recorded operations share.
pub struct Storage {
    buffer: Own<DynBuffer>,
    /// Device of the memory.
    pub device: Arc<Device>,
    exported: AtomicBool,
    /// Operations that still have to read it.
    pub readers: Readers,
    object: PyOnceLock<Py<PyBuffer>>,
    bytes: PyOnceLock<Py<PyAny>>,
}

impl Storage {
    /// A buffer that nobody else has.
    pub fn new(device: Arc<Device>, buffer: DynBuffer) -> Arc<Self> {
        Arc::new(Self {
            buffer: Own::new(buffer),
            device,
            exported: AtomicBool::new(false),
            readers: Readers::default(),
            object: PyOnceLock::new(),
            bytes: PyOnceLock::new(),
        })
    }

    /// New memory: zeros, or elements that are all written before they are read.
    ///
    /// # Errors
    /// Out of memory, and those of [`Device::executor`].
    pub fn allocate(
        py: Python<'_>,
        device: &Arc<Device>,
        count: usize,
        ty: Ty,
        zeroed: bool,
    ) -> PyResult<Arc<Self>> {
        let executor = device.executor(py)?;
        let made = py.detach(|| {
            if zeroed {
                executor.allocate_dyn(ty, count)
            } else {
                executor.allocate_unset(ty, count)
            }
        });
        Ok(Self::new(device.clone(), made.or_raise()?))
    }

    /// The buffer.
    pub fn buffer(&self) -> &DynBuffer {
        &self.buffer
    }

    /// True if something outside of this package sees the memory and may change it at any time; operations on it are then
    /// computed at once.
    pub fn is_exported(&self) -> bool {
        self.exported.load(Ordering::Relaxed)
    }

    /// The buffer as Python knows it.
    ///
    /// # Errors
    /// Those of [`Device::executor`].
    pub fn object<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyBuffer>> {
        let object = self.object.get_or_try_init(py, || {
            let executor = self.device.executor(py)?;
            Py::new(py, PyBuffer::new(executor, self.buffer.clone()))
        })?;
        Ok(object.bind(py))
    }
}

/// A buffer that arrays and recorded operations share.
#[pyclass(name = "Storage", module = "hologram", frozen)]
pub struct PyStorage(pub Arc<Storage>);

#[pymethods]
impl PyStorage {
    /// The buffer.
    #[getter]
    fn buffer(&self, py: Python<'_>) -> PyResult<Py<PyBuffer>> {
        Ok(self.0.object(py)?.clone().unbind())
    }

    /// Device of the memory.
    #[getter]
    fn device(&self, py: Python<'_>) -> Py<PyAny> {
        self.0.device.object(py)
    }

    /// True if something outside of this package sees the memory and may change it at any time; operations on it are then
    /// computed at once, and those that were recorded before are computed when it is set.
    #[getter]
    fn exported(&self) -> bool {
        self.0.is_exported()
    }

    #[setter]
    fn set_exported(&self, py: Python<'_>, exported: bool) -> PyResult<()> {
        let _alone = alone(py)?;
        // First, for what other threads record while the readers are computed.
        self.0.exported.store(exported, Ordering::Relaxed);
        if exported {
            compute_readers(py, &self.0, &[])?;
        }
        Ok(())
    }

    /// All bytes: the memory itself where the device's is the host's, else a copy.
    fn host_bytes(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let numpy = dtype::numpy(py)?;
        let buffer = self.0.object(py)?;
        if !self.0.device.on_host {
            let copied = buffer.call_method0("to_bytes")?;
            let seen = numpy.call_method1("frombuffer", (copied, "u1"))?;
            return Ok(seen.unbind());
        }
        let seen = || PyBuffer::seen(buffer, "u1").map(Bound::unbind);
        let bytes = self.0.bytes.get_or_try_init(py, seen)?;
        Ok(bytes.clone_ref(py))
    }
}
