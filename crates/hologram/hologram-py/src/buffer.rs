//! `hologram.Buffer`.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use hologram_backends::Ty;
use hologram_core::{ops::raw, strided, DynBuffer, Error, Executor};
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{IntoPyDict, PyBytes, PyTuple};

use crate::dense::Dense;
use crate::errors::{exception, OrRaise};
use crate::process::{self, Own};
use crate::{dlpack, dtype, names, view};

/// Elements of one type in a device's memory.
#[pyclass(name = "Buffer", module = "hologram", frozen, weakref)]
pub struct PyBuffer {
    inner: Mutex<Option<Own<DynBuffer>>>,
    executor: Own<Executor>,
    /// Views of the memory that others hold.
    exports: AtomicUsize,
}

impl PyBuffer {
    pub fn new(executor: Executor, buffer: DynBuffer) -> Self {
        Self {
            inner: Mutex::new(Some(Own::new(buffer))),
            executor: Own::new(executor),
            exports: AtomicUsize::new(0),
        }
    }

    /// The buffer, if it is not freed.
    pub fn get(&self) -> PyResult<DynBuffer> {
        process::check()?;
        let guard = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        guard
            .as_ref()
            .map(|buffer| DynBuffer::clone(buffer))
            .ok_or_else(|| exception("ClosedError", "the buffer is freed".into()))
    }

    /// Memory that a view may show.
    fn exported(&self, py: Python<'_>) -> PyResult<(DynBuffer, *mut u8)> {
        let buffer = self.get()?;
        let pointer = self.shown(py)?.ok_or_else(|| {
            PyBufferError::new_err("the memory is the device's own; copy it with to_numpy()")
        })?;
        Ok((buffer, pointer as *mut u8))
    }

    /// Address of the memory, unless it is the device's own, after everything that was started.
    fn shown(&self, py: Python<'_>) -> PyResult<Option<usize>> {
        let buffer = self.get()?;
        let pointer =
            py.detach(|| Ok::<_, Error>(buffer.host_pointer()?.map(|p| p.as_ptr() as usize)));
        pointer.or_raise()
    }

    /// The memory as an array of NumPy's, without a copy.
    ///
    /// # Errors
    /// `BufferError`: memory of a device.
    pub fn seen<'py>(
        slf: &Bound<'py, Self>,
        dtype: impl IntoPyObject<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let numpy = dtype::numpy(slf.py())?;
        if slf.get().size()? == 0 {
            return numpy.call_method1("empty", (0, dtype));
        }
        let bytes = (BufferBytes(slf.clone().unbind()), "u1");
        let bytes = numpy.call_method1("frombuffer", bytes)?;
        bytes.call_method1("view", (dtype,))
    }

    /// A new buffer with the elements converted to another type.
    fn convert(&self, py: Python<'_>, ty: Ty) -> PyResult<Self> {
        let buffer = self.get()?;
        let executor = Executor::clone(&self.executor);
        let made = py
            .detach(|| {
                let made = executor.allocate_dyn(ty, buffer.len())?;
                strided::cast(&executor, &buffer, &made, buffer.len())?;
                Ok::<_, Error>(made)
            })
            .or_raise()?;
        Ok(Self::new(executor, made))
    }

    /// Copies an array of the same type and size, in row-major order.
    pub fn write_array(&self, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = array.py();
        let buffer = self.get()?;
        let ty = dtype::parse(&array.getattr("dtype")?)?;
        check_like("array", ty, array.getattr("size")?.extract()?, &buffer)?;
        let dense = dtype::numpy(py)?.call_method1("ascontiguousarray", (array,))?;
        Dense::of_array(&dense)?.write_to(py, &buffer)
    }
}

/// An error if an argument's elements are not of a buffer's type, or not as many.
fn check_like(argument: &str, ty: Ty, len: usize, buffer: &DynBuffer) -> PyResult<()> {
    let (given, expected) = (names::name(ty), names::name(buffer.ty()));
    if given != expected {
        let message = format!(
            "{argument}: elements are {given}, {expected} expected; convert it with `astype`"
        );
        return Err(exception("DTypeError", message));
    }
    if len != buffer.len() {
        let message = format!(
            "{argument}: {len} elements given, {} expected",
            buffer.len()
        );
        return Err(exception("ShapeError", message));
    }
    Ok(())
}

/// The bytes of a buffer, which have a format in the buffer protocol where its elements have none.
#[pyclass(module = "hologram", frozen)]
struct BufferBytes(Py<PyBuffer>);

#[pymethods]
impl BufferBytes {
    /// # Safety
    /// Called by Python with a view to fill.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: std::ffi::c_int,
    ) -> PyResult<()> {
        let shown = slf.get().0.clone_ref(slf.py());
        let (buffer, pointer) = shown.get().exported(slf.py())?;
        // SAFETY: Python passes a view that may be filled; the buffer, held by the view, owns the memory.
        unsafe { view::fill(view, flags, &buffer, Ty::U8, pointer, slf.into_any()) }?;
        shown.get().exports.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// # Safety
    /// Called by Python with a view filled by `__getbuffer__`, once.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: as promised.
        unsafe { view::release(view) };
        self.0.get().exports.fetch_sub(1, Ordering::AcqRel);
    }
}

#[pymethods]
impl PyBuffer {
    /// Number of elements.
    #[getter]
    fn size(&self) -> PyResult<usize> {
        Ok(self.get()?.len())
    }

    fn __len__(&self) -> PyResult<usize> {
        self.size()
    }

    /// Type of the elements.
    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dtype::to_numpy(py, self.get()?.ty())
    }

    /// Bytes of all elements.
    #[getter]
    fn nbytes(&self) -> PyResult<usize> {
        Ok(self.get()?.size_bytes())
    }

    /// The number in programs.
    #[getter]
    fn handle(&self) -> PyResult<u64> {
        Ok(self.get()?.handle().raw())
    }

    /// Class of the boundary pool, or None.
    #[getter]
    fn class_index(&self) -> PyResult<Option<u8>> {
        Ok(self.get()?.class())
    }

    /// True if `free` was called.
    #[getter]
    fn freed(&self) -> PyResult<bool> {
        process::check()?;
        Ok(self.get().is_err())
    }

    /// Copies an array of the same type and size.
    #[pyo3(name = "from_numpy")]
    fn take_numpy(&self, array: &Bound<'_, PyAny>) -> PyResult<()> {
        let array = dtype::numpy(array.py())?.call_method1("asarray", (array,))?;
        self.write_array(&array)
    }

    /// A copy as a NumPy array.
    fn to_numpy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let buffer = self.get()?;
        let dtype = dtype::of_array(py, buffer.ty())?;
        let array = dtype::numpy(py)?.call_method1("empty", (buffer.len(), dtype))?;
        // SAFETY: the array is new, so it is writable and ours alone.
        unsafe { Dense::of_array(&array)?.read_from(py, &buffer) }?;
        Ok(array)
    }

    /// Copies bytes: as many as the buffer has.
    #[pyo3(name = "from_bytes")]
    fn take_bytes(&self, py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let buffer = self.get()?;
        let bytes = Dense::of(data)?;
        let (given, expected) = (bytes.len(), buffer.size_bytes());
        if given != expected {
            let message = format!("data: {given} bytes given, {expected} expected");
            return Err(exception("ShapeError", message));
        }
        bytes.write_to(py, &buffer)
    }

    /// All elements as bytes.
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let buffer = self.get()?;
        PyBytes::new_with(py, buffer.size_bytes(), |data| {
            py.detach(|| buffer.read_bytes(0, data)).or_raise()
        })
    }

    /// Sets all elements.
    fn fill(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let buffer = self.get()?;
        let bits = dtype::to_bits(buffer.ty(), value)?;
        let executor: &Executor = &self.executor;
        py.detach(|| raw::fill(executor, buffer.span(), bits, buffer.len()))
            .or_raise()
    }

    /// Copies all elements of a buffer of the same type and size, on the device where both are one's.
    fn copy_from(&self, py: Python<'_>, other: &Bound<'_, Self>) -> PyResult<()> {
        let (to, from) = (self.get()?, other.get().get()?);
        if from.same_memory(&to) {
            let message = "other: is the buffer itself".into();
            return Err(exception("ArgumentError", message));
        }
        check_like("other", from.ty(), from.len(), &to)?;
        let executor: &Executor = &self.executor;
        py.detach(|| {
            if !from.belongs_to(executor) {
                return to.write_bytes(0, &from.to_bytes()?);
            }
            raw::copy(executor, from.span(), to.span(), to.len())
        })
        .or_raise()
    }

    /// A new buffer with the elements converted to another type, on the device.
    fn astype(&self, py: Python<'_>, dtype: &Bound<'_, PyAny>) -> PyResult<Self> {
        self.convert(py, dtype::parse(dtype)?)
    }

    /// Frees the memory now.
    fn free(&self) -> PyResult<()> {
        process::check()?;
        let mut guard = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if self.exports.load(Ordering::Acquire) != 0 {
            return Err(PyBufferError::new_err(
                "views of the buffer exist; delete them before it is freed",
            ));
        }
        if guard.take().is_none() {
            return Err(exception("ClosedError", "the buffer is freed".into()));
        }
        Ok(())
    }

    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let numpy = dtype::numpy(py)?;
        let this = slf.get();
        let ty = this.get()?.ty();
        let array = if dtype.is_some() && copy != Some(false) && dtype::of_array(py, ty).is_err() {
            // NumPy does not know the type, but the one that is asked for.
            this.convert(py, Ty::F32)?.to_numpy(py)?
        } else if copy != Some(true) && (this.size()? == 0 || this.shown(py)?.is_some()) {
            Self::seen(slf, dtype::of_array(py, ty)?)?
        } else if copy == Some(false) {
            let message = "the memory is the device's own: a copy is needed";
            return Err(exception("ArgumentError", message.into()));
        } else {
            this.to_numpy(py)?
        };
        let Some(dtype) = dtype else {
            return Ok(array);
        };
        if copy == Some(false) {
            let named = [("copy", false)].into_py_dict(py)?;
            return numpy.call_method("array", (array, dtype), Some(&named));
        }
        numpy.call_method1("asarray", (array, dtype))
    }

    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        slf: &Bound<'py, Self>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if stream.is_some() {
            return Err(PyBufferError::new_err("host memory has no streams"));
        }
        if copy == Some(true) {
            return Err(PyBufferError::new_err("no copies here: use to_numpy()"));
        }
        if dl_device.is_some_and(|device| device != dlpack::HOST) {
            return Err(PyBufferError::new_err("only host memory is shown"));
        }
        let (buffer, _) = slf.get().exported(py)?;
        let is_bfloat16 = buffer.ty() == Ty::Bf16;
        let words = if is_bfloat16 { Ty::U16 } else { buffer.ty() };
        let words = Self::seen(slf, names::name(words))?;
        let named = [("max_version", max_version)].into_py_dict(py)?;
        let capsule = words.call_method("__dlpack__", (), Some(&named))?;
        if is_bfloat16 {
            dlpack::retype(&capsule, dlpack::UINT, dlpack::BFLOAT)?;
        }
        Ok(capsule)
    }

    fn __dlpack_device__(&self, py: Python<'_>) -> PyResult<(i32, i32)> {
        self.exported(py)?;
        Ok(dlpack::HOST)
    }

    /// # Safety
    /// Called by Python with a view to fill.
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        flags: std::ffi::c_int,
    ) -> PyResult<()> {
        let (buffer, pointer) = slf.get().exported(slf.py())?;
        let owner = slf.clone().into_any();
        // SAFETY: Python passes a view that may be filled; the buffer, held by the view, owns the memory.
        unsafe { view::fill(view, flags, &buffer, buffer.ty(), pointer, owner) }?;
        slf.get().exports.fetch_add(1, Ordering::AcqRel);
        Ok(())
    }

    /// # Safety
    /// Called by Python with a view filled by `__getbuffer__`, once.
    unsafe fn __releasebuffer__(&self, view: *mut ffi::Py_buffer) {
        // SAFETY: as promised.
        unsafe { view::release(view) };
        self.exports.fetch_sub(1, Ordering::AcqRel);
    }

    fn __repr__(&self) -> String {
        match self.get() {
            Ok(buffer) => format!(
                "Buffer({} x {}, {})",
                buffer.len(),
                names::name(buffer.ty()),
                self.executor.backend_type()
            ),
            Err(_) if process::check().is_err() => "Buffer(of another process)".into(),
            Err(_) => "Buffer(freed)".into(),
        }
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().get()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyTuple>) -> PyResult<()> {
        // After a fork the child leaves a `with` block of its parent, too: only the parent frees the buffer.
        if process::check().is_err() || self.freed()? {
            return Ok(());
        }
        self.free()
    }
}
