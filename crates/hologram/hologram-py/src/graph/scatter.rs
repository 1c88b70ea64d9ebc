//! A number written to the elements that an array of bools or of indices names, in memory of the host.

use std::sync::Arc;

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;

use super::alone::alone;
use super::array::PyArray;
use super::compute::compute_readers;
use super::element::Kind;
use super::value::{Leaf, Number};
use crate::errors::OrRaise;

/// Elements over which Python's other threads run meanwhile.
const MANY: usize = 1 << 16;

/// Memory of elements of one size, `count` of them from `first` on, `stride` elements apart.
struct Place {
    first: *mut u8,
    size: usize,
    count: usize,
    stride: isize,
}

// SAFETY: the pointer is into a buffer that the caller keeps, which nobody else uses while it has the lock of all arrays.
unsafe impl Send for Place {}

impl Place {
    /// The place of the elements of a view of one dimension, or of a dense one; None if they are outside of the host's memory or
    /// of the buffer.
    fn of(array: &PyArray, leaf: &Leaf) -> PyResult<Option<Self>> {
        let count = array.shape.size();
        let stride = match (array.shape.extents(), &*leaf.strides) {
            ([_], &[stride]) => stride,
            _ if *leaf.strides == **array.shape.dense() => 1,
            _ => return Ok(None),
        };
        let buffer = leaf.storage.buffer();
        let (begin, steps) = (leaf.offset as i128, count.saturating_sub(1) as i128);
        let end = begin + steps * stride as i128;
        if count == 0 || begin.max(end) >= buffer.len() as i128 || end < 0 {
            return Ok(None);
        }
        let size = leaf.ty().size();
        let Some(pointer) = buffer.host_pointer().or_raise()? else {
            return Ok(None);
        };
        // SAFETY: the first element lies in the buffer, as was checked.
        let first = unsafe { pointer.as_ptr().add(leaf.offset * size) };
        Ok(Some(Self {
            first,
            size,
            count,
            stride,
        }))
    }

    /// The element with an index below the count.
    fn at(&self, index: usize) -> *mut u8 {
        debug_assert!(index < self.count);
        // SAFETY: elements from the first to the last one lie in the buffer, which `of` checked.
        unsafe {
            self.first
                .offset(index as isize * self.stride * self.size as isize)
        }
    }

    /// Writes the low bytes of a word to an element with an index below the count.
    fn write(&self, index: usize, bits: u64) {
        let to = self.at(index);
        // SAFETY: `at` gives the place of an element of this size, aligned or not.
        unsafe {
            match self.size {
                1 => to.write(bits as u8),
                2 => to.cast::<u16>().write_unaligned(bits as u16),
                4 => to.cast::<u32>().write_unaligned(bits as u32),
                _ => to.cast::<u64>().write_unaligned(bits),
            }
        }
    }

    /// The integer that an element is.
    fn read(&self, index: usize, signed: bool) -> i128 {
        let from = self.at(index);
        // SAFETY: as in `write`.
        let bits = unsafe {
            match self.size {
                1 => u64::from(from.read()),
                2 => u64::from(from.cast::<u16>().read_unaligned()),
                4 => u64::from(from.cast::<u32>().read_unaligned()),
                _ => from.cast::<u64>().read_unaligned(),
            }
        };
        let shift = 64 - 8 * self.size as u32;
        if signed {
            i128::from((bits << shift) as i64 >> shift)
        } else {
            i128::from(bits)
        }
    }
}

/// Writes a number to the elements of `array` that `key` names: bools of its shape, or indices of its only dimension. False where
/// that takes more, and for bools at other places of the array's own memory.
///
/// # Errors
/// `IndexError`: an index out of bounds; then nothing is written. What computing the arrays says.
pub fn scatter(py: Python<'_>, array: &PyArray, key: &PyArray, number: Number) -> PyResult<bool> {
    let here = array.device.on_host && Arc::ptr_eq(&array.device, &key.device);
    let is_mask = key.element.kind == Kind::Bool;
    let fits = match key.element.kind {
        Kind::Bool => {
            array.shape.extents() == key.shape.extents() && !key.shape.extents().is_empty()
        }
        Kind::Int | Kind::Uint => array.shape.extents().len() == 1,
        Kind::Float | Kind::Complex => false,
    };
    if !here || !fits || array.element.lanes != 1 {
        return Ok(false);
    }
    let _alone = alone(py)?;
    let (names, leaf) = (key.leaf(py)?, array.leaf(py)?);
    let (Some(from), Some(to)) = (Place::of(key, &names)?, Place::of(array, &leaf)?) else {
        return Ok(false);
    };
    if is_mask && Arc::ptr_eq(&names.storage, &leaf.storage) && !names.same_place(&leaf) {
        // A bool could be written before it is read.
        return Ok(false);
    }
    compute_readers(py, &leaf.storage, &[])?;
    if is_mask {
        let work = move || fill_by_mask(&from, &to, number.bits);
        if array.shape.size() > MANY {
            py.detach(work);
        } else {
            work();
        }
        return Ok(true);
    }
    // All are read and checked before one is written: both may be the same memory.
    let extent = to.count as i128;
    let mut indices = Vec::with_capacity(from.count);
    for i in 0..from.count {
        let index = from.read(i, key.element.kind == Kind::Int);
        if !(-extent..extent).contains(&index) {
            let message = format!("index {index} of axis 0, which has {extent} elements");
            return Err(PyIndexError::new_err(message));
        }
        indices.push(if index < 0 { index + extent } else { index } as usize);
    }
    for index in indices {
        to.write(index, number.bits);
    }
    Ok(true)
}

/// Writes to the elements whose bool is set. Both have as many elements.
fn fill_by_mask(mask: &Place, to: &Place, bits: u64) {
    if mask.stride == 1 && to.stride == 1 {
        return match to.size {
            1 => fill_dense(mask, to, bits as u8),
            2 => fill_dense(mask, to, bits as u16),
            4 => fill_dense(mask, to, bits as u32),
            _ => fill_dense(mask, to, bits),
        };
    }
    for i in 0..mask.count {
        if mask.read(i, false) != 0 {
            to.write(i, bits);
        }
    }
}

/// `fill_by_mask` for elements side by side. A block in which any bool is set is written whole, without branches: bools of a comparison are hard to
/// predict.
fn fill_dense<T: Copy>(mask: &Place, to: &Place, value: T) {
    const BLOCK: usize = 64;
    let (mask, elements, count) = (mask.first.cast_const(), to.first.cast::<T>(), to.count);
    let select = |i: usize| {
        // SAFETY: `i` is below the count of both, and elements of this size lie side by side, aligned or not.
        unsafe {
            let element = elements.add(i);
            let old = element.read_unaligned();
            element.write_unaligned(if mask.add(i).read() == 0 { old } else { value });
        }
    };
    let blocks = count / BLOCK;
    for block in 0..blocks {
        let first = block * BLOCK;
        // SAFETY: the bools of the block are below the count.
        let any = (0..BLOCK).fold(0, |any, i| any | unsafe { mask.add(first + i).read() });
        if any != 0 {
            (first..first + BLOCK).for_each(select);
        }
    }
    (blocks * BLOCK..count).for_each(select);
}
