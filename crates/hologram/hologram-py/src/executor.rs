//! `hologram.Executor`.

use std::sync::{Mutex, PoisonError};

use hologram_backends::metal::{Fallback, UnknownFallback};
use hologram_backends::{ExecutionParams, LaunchConfig, Register, Stop, Ty};
use hologram_core::{device, BackendType, Executor};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::arguments;
use crate::buffer::PyBuffer;
use crate::dtype;
use crate::errors::{exception, OrRaise};
use crate::interrupt;
use crate::process::{self, Own};
use crate::program::PyProgram;

/// A device: its memory and what runs on it.
#[pyclass(name = "Executor", module = "hologram", frozen, weakref)]
pub struct PyExecutor {
    inner: Mutex<Option<Own<Executor>>>,
    backend: BackendType,
    device: String,
}

/// Name of each backend with its device, or why it cannot compute, as (name, usable, text).
#[pyfunction]
pub fn backends() -> Vec<(&'static str, bool, String)> {
    BackendType::ALL
        .into_iter()
        .map(|backend| match device::usable(backend) {
            Ok(name) => (backend.name(), true, name),
            Err(error) => (backend.name(), false, error.to_string()),
        })
        .collect()
}

/// Reasons why devices that are there cannot compute: a compiler that is missing.
#[pyfunction]
pub fn passed_over() -> Vec<String> {
    let there = BackendType::ALL
        .into_iter()
        .filter(|&backend| device::find(backend).is_ok());
    let failed = there.filter_map(|backend| device::usable(backend).err());
    failed.map(|error| error.to_string()).collect()
}

impl PyExecutor {
    /// The executor, if it is not closed.
    pub fn get(&self) -> PyResult<Executor> {
        process::check()?;
        let guard = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        guard
            .as_ref()
            .map(|executor| Executor::clone(executor))
            .ok_or_else(|| exception("ClosedError", "the executor is closed".into()))
    }
}

#[pymethods]
impl PyExecutor {
    #[new]
    #[pyo3(signature = (backend = "auto", fallback = "never", compile_limit = None))]
    fn new(
        py: Python<'_>,
        backend: &str,
        fallback: &str,
        compile_limit: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let policy: Fallback = fallback.parse().map_err(|error: UnknownFallback| {
            exception("ArgumentError", format!("fallback: {error}"))
        })?;
        let seconds = arguments::optional_size("compile_limit", compile_limit)?;
        let seconds = seconds.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX));
        process::opens()?;
        let made = py.detach(|| match backend {
            "auto" => Executor::new_auto(),
            name => name.parse().and_then(Executor::new_with_backend),
        });
        let executor = made.or_raise()?;
        executor.set_fallback(policy);
        executor.set_compile_limit(seconds);
        Ok(Self {
            backend: executor.backend_type(),
            device: executor.device().to_owned(),
            inner: Mutex::new(Some(Own::new(executor))),
        })
    }

    /// Name of its backend: "cpu", "interpreter", "metal" or "cuda".
    #[getter]
    fn backend(&self) -> &'static str {
        self.backend.name()
    }

    /// Name of the device.
    #[getter]
    fn device(&self) -> &str {
        &self.device
    }

    /// True if `close` was called.
    #[getter]
    fn closed(&self) -> PyResult<bool> {
        process::check()?;
        Ok(self.get().is_err())
    }

    /// Counters since it was made.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let executor = self.get()?;
        let dict = PyDict::new(py);
        let (stats, backend) = py.detach(|| (executor.stats(), executor.backend_stats()));
        for (name, value) in stats.entries() {
            dict.set_item(name, value)?;
        }
        for (name, value) in backend {
            dict.set_item(format!("backend_{name}"), value)?;
        }
        Ok(dict)
    }

    /// Waits for everything that was started.
    fn synchronize(&self, py: Python<'_>) -> PyResult<()> {
        let executor = self.get()?;
        py.detach(|| executor.synchronize()).or_raise()
    }

    /// Counts an operation on its arrays that was computed on the host.
    fn count_host_operation(&self) -> PyResult<()> {
        self.get()?.count_host_operation();
        Ok(())
    }

    /// A zeroed buffer of `size` elements.
    #[pyo3(signature = (size, dtype = None))]
    fn allocate(
        &self,
        py: Python<'_>,
        size: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyBuffer> {
        let executor = self.get()?;
        let size = arguments::size("size", size)?;
        let ty = dtype.map_or(Ok(Ty::F32), dtype::parse)?;
        let buffer = py.detach(|| executor.allocate_dyn(ty, size)).or_raise()?;
        Ok(PyBuffer::new(executor, buffer))
    }

    /// `width` x `height` bytes of a class of the boundary pool.
    #[pyo3(signature = (class_index, width, height, dtype = None))]
    fn allocate_boundary(
        &self,
        py: Python<'_>,
        class_index: &Bound<'_, PyAny>,
        width: &Bound<'_, PyAny>,
        height: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyBuffer> {
        let executor = self.get()?;
        let ty = dtype.map_or(Ok(Ty::F32), dtype::parse)?;
        let class = arguments::size("class_index", class_index)?;
        let class_index = u8::try_from(class).map_err(|_| {
            let message = format!("class_index: {class}, must be 0 to 95");
            exception("ArgumentError", message)
        })?;
        let (width, height) = (
            arguments::size("width", width)?,
            arguments::size("height", height)?,
        );
        let buffer = py
            .detach(|| executor.allocate_boundary_dyn(ty, class_index, width, height))
            .or_raise()?;
        Ok(PyBuffer::new(executor, buffer))
    }

    /// A new buffer with the elements of an array, in row-major order.
    #[pyo3(name = "from_numpy", signature = (array, dtype = None))]
    fn take_numpy(
        &self,
        py: Python<'_>,
        array: &Bound<'_, PyAny>,
        dtype: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<PyBuffer> {
        let array = dtype::numpy(py)?.call_method1("asarray", (array, dtype))?;
        let ty = dtype::parse(&array.getattr("dtype")?)?;
        let size: usize = array.getattr("size")?.extract()?;
        let executor = self.get()?;
        let buffer = py.detach(|| executor.allocate_unset(ty, size)).or_raise()?;
        let buffer = PyBuffer::new(executor, buffer);
        buffer.write_array(&array)?;
        Ok(buffer)
    }

    /// Runs a program and waits for it; Ctrl-C ends it.
    #[pyo3(signature = (program, *, grid = None, block = None, shared_memory = None, registers = None, step_budget = None, time_limit = None, class_from_block = false, allow_reassociation = false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn run(
        &self,
        py: Python<'_>,
        program: &PyProgram,
        grid: Option<&Bound<'_, PyAny>>,
        block: Option<&Bound<'_, PyAny>>,
        shared_memory: Option<&Bound<'_, PyAny>>,
        registers: Option<&Bound<'_, PyDict>>,
        step_budget: Option<&Bound<'_, PyAny>>,
        time_limit: Option<&Bound<'_, PyAny>>,
        class_from_block: bool,
        allow_reassociation: bool,
    ) -> PyResult<()> {
        let executor = self.get()?;
        let shared = arguments::optional_size("shared_memory", shared_memory)?.unwrap_or(0);
        let grid = arguments::dimensions("grid", grid)?;
        let block = arguments::dimensions("block", block)?;
        let launch = LaunchConfig::new(grid, block).with_shared_memory(shared);
        let mut params = ExecutionParams::new(launch);
        params.step_budget =
            arguments::optional_size("step_budget", step_budget)?.map(|steps| steps as u64);
        params.time_limit = arguments::optional_seconds("time_limit", time_limit)?;
        params.class_from_block = class_from_block;
        params.allow_reassociation = allow_reassociation;
        // Clones keep the buffers alive while the program runs.
        let mut used = Vec::new();
        for (key, value) in registers.into_iter().flatten() {
            let register = register(&key)?;
            if let Ok(buffer) = value.cast::<PyBuffer>() {
                let buffer = buffer.get().get()?;
                if !buffer.belongs_to(&executor) {
                    let message = format!("{register}: the buffer belongs to another executor");
                    return Err(exception("ArgumentError", message));
                }
                params = params.with_u64(register, buffer.handle().raw());
                used.push(buffer);
            } else if let Ok(typed) = value.cast::<PyTuple>() {
                let (ty, number): (Bound<'_, PyAny>, Bound<'_, PyAny>) = typed.extract()?;
                let ty = dtype::parse(&ty)?;
                params = params.with_register(register, ty, dtype::to_bits(ty, &number)?);
            } else {
                params = params.with_u64(register, dtype::to_bits(Ty::U64, &value)?);
            }
        }
        let program = program.inner();
        let result = if interrupt::is_short(program, &params) {
            py.detach(|| executor.run(program, &params))
        } else {
            let stop = Stop::new();
            let params = params.with_stop(stop.clone());
            interrupt::interruptible(py, &stop, || executor.run(program, &params))?
        };
        drop(used);
        result.or_raise()
    }

    /// Ends its use; memory goes with the last of its buffers.
    fn close(&self) {
        if process::check().is_err() {
            return;
        }
        let taken = self
            .inner
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(taken);
    }

    /// The same as `close`.
    fn cleanup(&self) {
        self.close();
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().get()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyTuple>) {
        self.close();
    }

    fn __repr__(&self) -> String {
        let state = match self.closed() {
            Ok(false) => "",
            Ok(true) => ", closed",
            Err(_) => ", of another process",
        };
        format!(
            "Executor(backend={:?}, device={:?}{state})",
            self.backend.name(),
            self.device
        )
    }
}

/// `7` or `"r7"`.
fn register(key: &Bound<'_, PyAny>) -> PyResult<Register> {
    let index = match key.extract::<String>() {
        Ok(text) => text
            .strip_prefix('r')
            .and_then(|digits| digits.parse().ok()),
        Err(_) => key.extract::<u8>().ok(),
    };
    index.map(Register::new).ok_or_else(|| {
        exception(
            "ArgumentError",
            format!("registers: {key} is none of r0 to r255"),
        )
    })
}
