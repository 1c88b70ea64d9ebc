//! Views of the buffer protocol.

use hologram_backends::Ty;
use hologram_core::DynBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::names;
use crate::process::Own;

/// Extent and stride, which a view points to.
struct Extents {
    shape: ffi::Py_ssize_t,
    stride: ffi::Py_ssize_t,
    /// Holds the memory even where the owner let go of it.
    _buffer: Own<DynBuffer>,
}

/// Fills a view of the whole buffer as elements of type `ty`; it holds `owner`.
///
/// # Errors
/// `BufferError`: the format is asked for, and the type has none.
///
/// # Safety
/// `view` may be written; `pointer` is the memory of `buffer`.
pub unsafe fn fill(
    view: *mut ffi::Py_buffer,
    flags: std::ffi::c_int,
    buffer: &DynBuffer,
    ty: Ty,
    pointer: *mut u8,
    owner: Bound<'_, PyAny>,
) -> PyResult<()> {
    let asked = |flag| flags & flag == flag;
    let format = match (asked(ffi::PyBUF_FORMAT), names::format(ty)) {
        (false, _) => None,
        // As numbers of another type they would be read wrongly.
        (true, None) => {
            let name = names::name(ty);
            let message = format!(
                "the buffer protocol has no {name}: use to_bytes(), or astype(\"float32\")"
            );
            return Err(PyBufferError::new_err(message));
        }
        (true, format) => format,
    };
    let extents = Box::into_raw(Box::new(Extents {
        shape: (buffer.size_bytes() / ty.size()) as ffi::Py_ssize_t,
        stride: ty.size() as ffi::Py_ssize_t,
        _buffer: Own::new(buffer.clone()),
    }));
    // SAFETY: `view` may be written; what it points to lives until `release`, the format for ever.
    unsafe {
        (*view).obj = owner.into_ptr();
        (*view).buf = pointer.cast();
        (*view).len = buffer.size_bytes() as ffi::Py_ssize_t;
        (*view).itemsize = ty.size() as ffi::Py_ssize_t;
        (*view).readonly = 0;
        (*view).ndim = 1;
        (*view).format = match format {
            Some(format) => format.as_ptr().cast_mut(),
            None => std::ptr::null_mut(),
        };
        (*view).shape = if asked(ffi::PyBUF_ND) {
            &raw mut (*extents).shape
        } else {
            std::ptr::null_mut()
        };
        (*view).strides = if asked(ffi::PyBUF_STRIDES) {
            &raw mut (*extents).stride
        } else {
            std::ptr::null_mut()
        };
        (*view).suboffsets = std::ptr::null_mut();
        (*view).internal = extents.cast();
    }
    Ok(())
}

/// Lets go of what a view points to.
///
/// # Safety
/// `view` was filled by [`fill`] and is released once.
pub unsafe fn release(view: *mut ffi::Py_buffer) {
    // SAFETY: `internal` is the box that `fill` leaked.
    drop(unsafe { Box::from_raw((*view).internal.cast::<Extents>()) });
}
