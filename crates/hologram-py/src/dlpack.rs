//! Capsules of DLPack, versions 0 and 1, for memory of the host.

use std::ffi::{c_void, CStr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use hologram_backends::Ty;
use hologram_core::DynBuffer;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::process::Own;

/// Device type and index of host memory.
pub const HOST: (i32, i32) = (1, 0);

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

/// What a capsule holds.
struct Held {
    _buffer: Own<DynBuffer>,
    exports: Arc<AtomicUsize>,
    shape: i64,
    stride: i64,
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
        ndim: 1,
        code: match ty {
            Ty::Bf16 => 4,
            _ if ty.is_float() => 2,
            _ if ty.is_signed_int() => 0,
            _ => 1,
        },
        bits: ty.bits() as u8,
        lanes: 1,
        shape: &raw mut held.shape,
        strides: &raw mut held.stride,
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
    let ty = buffer.ty();
    exports.fetch_add(1, Ordering::AcqRel);
    let mut held = Box::new(Held {
        shape: buffer.len() as i64,
        stride: 1,
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
