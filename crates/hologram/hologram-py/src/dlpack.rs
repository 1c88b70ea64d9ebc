//! Capsules of DLPack, versions 0 and 1, for memory of the host.

use std::ffi::{c_void, CStr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use hologram_backends::Ty;
use hologram_core::DynBuffer;
use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::process::Own;

/// Device type and index of host memory.
pub const HOST: (i32, i32) = (1, 0);

/// Device types of memory that the host reads: its own, and what it shares with a CUDA device.
const READABLE: [i32; 2] = [HOST.0, 3];

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
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: DlTensor,
}

/// Contents of a capsule.
struct Held {
    _buffer: Own<DynBuffer>,
    exports: Arc<AtomicUsize>,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.exports.fetch_sub(1, Ordering::AcqRel);
    }
}

fn tensor(held: &mut Held, pointer: *mut u8, ty: Ty) -> DlTensor {
    DlTensor {
        data: pointer.cast(),
        device: [HOST.0, HOST.1],
        ndim: held.shape.len() as i32,
        code: match ty {
            Ty::Bf16 => 4,
            _ if ty.is_float() => 2,
            _ if ty.is_signed_int() => 0,
            _ => 1,
        },
        bits: ty.bits() as u8,
        lanes: 1,
        shape: held.shape.as_mut_ptr(),
        strides: held.strides.as_mut_ptr(),
        byte_offset: 0,
    }
}

/// A capsule over the whole buffer, of the newest version up to `max_version`.
pub fn capsule<'py>(
    py: Python<'py>,
    buffer: DynBuffer,
    pointer: *mut u8,
    exports: Arc<AtomicUsize>,
    max_version: Option<(u32, u32)>,
) -> PyResult<Bound<'py, PyAny>> {
    let extents = (vec![buffer.len() as i64], vec![1]);
    capsule_of(py, buffer, pointer, exports, extents, max_version)
}

/// A capsule over elements of a buffer, from `pointer` on, with these extents and strides in elements.
pub fn capsule_of<'py>(
    py: Python<'py>,
    buffer: DynBuffer,
    pointer: *mut u8,
    exports: Arc<AtomicUsize>,
    (shape, strides): (Vec<i64>, Vec<i64>),
    max_version: Option<(u32, u32)>,
) -> PyResult<Bound<'py, PyAny>> {
    let ty = buffer.ty();
    exports.fetch_add(1, Ordering::AcqRel);
    let mut held = Box::new(Held {
        shape,
        strides,
        _buffer: Own::new(buffer),
        exports,
    });
    let tensor = tensor(&mut held, pointer, ty);
    let context = Box::into_raw(held).cast();
    let versioned = max_version.is_some_and(|(major, _)| major >= 1);
    // SAFETY: the boxes become the capsule's, whose destructor or consumer calls their deleter.
    let capsule = unsafe {
        if versioned {
            let managed = Box::into_raw(Box::new(ManagedVersioned {
                version: [1, 0],
                context,
                deleter: Some(delete_versioned),
                flags: 0,
                tensor,
            }));
            ffi::PyCapsule_New(
                managed.cast(),
                NAME_VERSIONED.as_ptr(),
                Some(unused_versioned),
            )
        } else {
            let managed = Box::into_raw(Box::new(Managed {
                tensor,
                context,
                deleter: Some(delete),
            }));
            ffi::PyCapsule_New(managed.cast(), NAME.as_ptr(), Some(unused))
        }
    };
    // SAFETY: a new reference, or null with the error set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

/// Elements of a capsule of bfloat16 in memory that the host reads, row-major, with their extents: NumPy does not read it. None of others.
///
/// # Errors
/// `BufferError`: it is no capsule, or was used before.
#[pyfunction]
#[pyo3(signature = (capsule, /))]
pub fn bfloat16_of<'py>(
    capsule: &Bound<'py, PyAny>,
) -> PyResult<Option<(Bound<'py, PyBytes>, Vec<usize>)>> {
    let py = capsule.py();
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
    let name = if versioned { NAME_VERSIONED } else { NAME };
    // SAFETY: a capsule of this name holds this structure, whose major version is 1 where it has one.
    let tensor = unsafe {
        let held = ffi::PyCapsule_GetPointer(object, name.as_ptr());
        if versioned {
            &raw const (*held.cast::<ManagedVersioned>()).tensor
        } else {
            &raw const (*held.cast::<Managed>()).tensor
        }
    };
    // SAFETY: who made the capsule keeps the structure until its deleter is called, which is the capsule's.
    let tensor = unsafe { &*tensor };
    let is_bfloat16 = (tensor.code, tensor.bits, tensor.lanes) == (4, 16, 1);
    if !is_bfloat16 || !READABLE.contains(&tensor.device[0]) {
        return Ok(None);
    }
    let ndim = usize::try_from(tensor.ndim).unwrap_or(0);
    // SAFETY: both are arrays of this many numbers; no strides mean row-major.
    let (shape, strides) = unsafe {
        let list = |first: *mut i64| match ndim {
            0 => Vec::new(),
            _ => std::slice::from_raw_parts(first, ndim).to_vec(),
        };
        let strides = (!tensor.strides.is_null()).then(|| list(tensor.strides));
        (list(tensor.shape), strides)
    };
    let shape: Vec<usize> = shape.iter().map(|&extent| extent.max(0) as usize).collect();
    let strides = strides.unwrap_or_else(|| {
        let mut dense = vec![1; ndim];
        for d in (1..ndim).rev() {
            dense[d - 1] = dense[d] * shape[d] as i64;
        }
        dense
    });
    let count: usize = shape.iter().product();
    let mut bytes = Vec::with_capacity(2 * count);
    let mut index = vec![0; ndim];
    for _ in 0..count {
        let at: i64 = index
            .iter()
            .zip(&strides)
            .map(|(&i, stride)| i as i64 * stride)
            .sum();
        // SAFETY: the capsule's maker vouches for its elements, of which this is one.
        let element = unsafe {
            let first = tensor.data.cast::<u8>().add(tensor.byte_offset as usize);
            first.cast::<u16>().offset(at as isize).read_unaligned()
        };
        bytes.extend_from_slice(&element.to_le_bytes());
        for d in (0..ndim).rev() {
            index[d] += 1;
            if index[d] < shape[d] {
                break;
            }
            index[d] = 0;
        }
    }
    Ok(Some((PyBytes::new(py, &bytes), shape)))
}

/// Frees a tensor with what it holds; may be called without the interpreter.
unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: both were boxed by `capsule`, and consumers call this once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Held>()));
    }
}

/// The same of the versioned form.
unsafe extern "C" fn delete_versioned(managed: *mut ManagedVersioned) {
    // SAFETY: as in `delete`.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Held>()));
    }
}

/// Destructor of a capsule: consumers rename it, so one of the first name was not consumed.
unsafe extern "C" fn unused(capsule: *mut ffi::PyObject) {
    // SAFETY: Python passes the capsule that dies; with this name it holds what `capsule` put in.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        }
    }
}

/// The same of the versioned form.
unsafe extern "C" fn unused_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as in `unused`.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME_VERSIONED.as_ptr()) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, NAME_VERSIONED.as_ptr()).cast());
        }
    }
}
