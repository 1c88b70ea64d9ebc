//! Capsules of DLPack for bfloat16, which NumPy does not know: it makes and reads them as capsules of uint16.

use std::ffi::{c_void, CStr};

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;

/// Device type and index of host memory.
pub const HOST: (i32, i32) = (1, 0);
/// Code of unsigned integers.
pub const UINT: u8 = 1;
/// Code of bfloat16.
pub const BFLOAT: u8 = 4;

const NAME: &CStr = c"dltensor";
const NAME_VERSIONED: &CStr = c"dltensor_versioned";

#[repr(C)]
struct DlTensor {
    data: *mut c_void,
    device: [i32; 2],
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
}

/// Fields before the tensor of a versioned capsule.
#[repr(C)]
struct Versioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: *mut c_void,
    flags: u64,
    tensor: DlTensor,
}

/// Says of a capsule of elements of 16 bits that their type has another code, in its producer's structure. False, and nothing is
/// changed, of other elements and of major versions of DLPack other than 1.
///
/// # Errors
/// `BufferError`: it is no capsule, or was used before.
#[pyfunction]
#[pyo3(signature = (capsule, code, to, /))]
pub fn retype(capsule: &Bound<'_, PyAny>, code: u8, to: u8) -> PyResult<bool> {
    let object = capsule.as_ptr();
    let is = |name: &CStr| {
        // SAFETY: any object may be asked for.
        unsafe { ffi::PyCapsule_IsValid(object, name.as_ptr()) == 1 }
    };
    let versioned = is(NAME_VERSIONED);
    if !versioned && !is(NAME) {
        return Err(PyBufferError::new_err(
            "no capsule of DLPack, or one that was used",
        ));
    }
    // SAFETY: a capsule of either name holds its structure, which begins with the version where it has one and is laid out so
    // in version 1; nobody else uses the tensor before the capsule is consumed.
    let tensor = unsafe {
        if versioned {
            let held = ffi::PyCapsule_GetPointer(object, NAME_VERSIONED.as_ptr());
            let held = &mut *held.cast::<Versioned>();
            if held.version[0] != 1 {
                return Ok(false);
            }
            &mut held.tensor
        } else {
            &mut *ffi::PyCapsule_GetPointer(object, NAME.as_ptr()).cast::<DlTensor>()
        }
    };
    let fits = (tensor.code, tensor.bits, tensor.lanes) == (code, 16, 1);
    if fits {
        tensor.code = to;
    }
    Ok(fits)
}
