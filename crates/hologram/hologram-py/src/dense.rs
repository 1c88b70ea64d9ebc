//! Dense memory of Python objects, copied to buffers and from them while other threads run Python.

use hologram_core::DynBuffer;
use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;

use crate::errors::OrRaise;

/// Dense bytes of an object, which cannot move or go away meanwhile.
pub struct Dense(PyUntypedBuffer);

impl Dense {
    /// The bytes of an object with the buffer protocol.
    pub fn of(data: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::checked(data, "the bytes are not dense")
    }

    /// The elements of a dense array as bytes: not all element types have a format of their own.
    pub fn of_array(array: &Bound<'_, PyAny>) -> PyResult<Self> {
        let flat = array.call_method1("reshape", (-1,))?;
        let bytes = flat.call_method1("view", ("u1",))?;
        Self::checked(&bytes, "the array is not dense")
    }

    fn checked(data: &Bound<'_, PyAny>, otherwise: &'static str) -> PyResult<Self> {
        let bytes = PyUntypedBuffer::get(data)?;
        if !bytes.is_c_contiguous() {
            return Err(PyBufferError::new_err(otherwise));
        }
        Ok(Self(bytes))
    }

    /// Extents of the elements.
    pub fn extents(&self) -> Vec<usize> {
        self.0.shape().to_vec()
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.0.len_bytes()
    }

    /// Copies the bytes to the beginning of a buffer.
    pub fn write_to(&self, py: Python<'_>, buffer: &DynBuffer) -> PyResult<()> {
        let (place, len) = self.place();
        py.detach(|| {
            let data: &[u8] = match len {
                // The place may be null.
                0 => &[],
                // SAFETY: dense bytes, which `self` holds.
                _ => unsafe { std::slice::from_raw_parts(place as *const u8, len) },
            };
            buffer.write_bytes(0, data)
        })
        .or_raise()
    }

    /// Fills the bytes from the beginning of a buffer.
    ///
    /// # Safety
    /// The memory is writable, and nobody else looks at it.
    pub unsafe fn read_from(&self, py: Python<'_>, buffer: &DynBuffer) -> PyResult<()> {
        let (place, len) = self.place();
        py.detach(|| {
            let data: &mut [u8] = match len {
                0 => &mut [],
                // SAFETY: dense bytes, which `self` holds; the caller promises the rest.
                _ => unsafe { std::slice::from_raw_parts_mut(place as *mut u8, len) },
            };
            buffer.read_bytes(0, data)
        })
        .or_raise()
    }

    /// Address and length: where no Python may run there is no looking at the object.
    fn place(&self) -> (usize, usize) {
        (self.0.buf_ptr() as usize, self.0.len_bytes())
    }
}
