//! A number written to the elements that a few indices name, in memory of the host.

use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use super::alone::alone;
use super::array::PyArray;
use super::compute::compute_readers;
use super::element::Kind;
use super::select::address;
use super::value::Number;

/// Indices up to which a call of NumPy takes longer than the writes.
const FEW: u128 = 4096;

/// Writes a number to the elements of an array of one dimension that indices name. False of many indices, and of arrays that are not
/// dense or not on the host.
///
/// # Errors
/// `IndexError`: an index out of bounds; then nothing is written. Errors of computing the arrays.
pub fn scatter(
    py: Python<'_>,
    array: &PyArray,
    indices: &PyArray,
    number: Number,
) -> PyResult<bool> {
    let here = array.device.on_host && Arc::ptr_eq(&array.device, &indices.device);
    let integers = matches!(indices.element.kind, Kind::Int | Kind::Uint);
    let &[extent] = array.shape.extents() else {
        return Ok(false);
    };
    if !here || !integers || array.element.lanes != 1 || indices.shape.size() > FEW {
        return Ok(false);
    }
    let _alone = alone(py)?;
    let (names, leaf) = (indices.leaf(py)?, array.leaf(py)?);
    let (Some(from), Some(to)) = (address(indices, &names)?, address(array, &leaf)?) else {
        return Ok(false);
    };
    compute_readers(py, &leaf.storage, &[])?;
    // All are read and checked before one is written: both may be the same memory.
    let mut places = Vec::with_capacity(indices.shape.count()?);
    let (size, signed) = (indices.element.size(), indices.element.kind == Kind::Int);
    for i in 0..indices.shape.count()? {
        // SAFETY: a dense array has this many integers of this size from its first on, which nobody writes under the lock of all arrays.
        let index = unsafe { integer(from + i * size, size, signed) };
        let place = if index < 0 {
            index + extent as i128
        } else {
            index
        };
        match usize::try_from(place) {
            Ok(place) if place < extent => places.push(place),
            _ => {
                let message = format!("index {index} of axis 0, which has {extent} elements");
                return Err(PyIndexError::new_err(message));
            }
        }
    }
    let (size, bits) = (array.element.size(), number.bits.to_le_bytes());
    for place in places {
        let to = (to + place * size) as *mut u8;
        // SAFETY: an element of the dense array, of at most 8 bytes, which nobody else uses under the lock.
        unsafe { to.copy_from_nonoverlapping(bits.as_ptr(), size) };
    }
    Ok(true)
}

/// The integer of `size` bytes, at most 8, at an address.
///
/// # Safety
/// It is there, and nobody writes it.
unsafe fn integer(from: usize, size: usize, signed: bool) -> i128 {
    let mut bytes = [0; 8];
    // SAFETY: the caller's promise.
    unsafe {
        bytes
            .as_mut_ptr()
            .copy_from_nonoverlapping(from as *const u8, size)
    };
    let bits = u64::from_le_bytes(bytes);
    let unused = 64 - 8 * size as u32;
    if signed {
        i128::from((bits << unused) as i64 >> unused)
    } else {
        i128::from(bits)
    }
}
