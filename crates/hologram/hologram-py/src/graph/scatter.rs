//! A number written to the elements that an array of bools names, in memory of the host.

use std::sync::Arc;

use pyo3::prelude::*;

use super::alone::alone;
use super::array::PyArray;
use super::compute::compute_readers;
use super::element::Kind;
use super::select::address;
use super::value::Number;

/// Writes a number to the elements of `array` whose bools in `mask`, of the same shape, are set. False of arrays that are not dense or
/// not on the host, and of bools at other places of the array's own memory.
///
/// # Errors
/// Errors of computing the arrays.
pub fn scatter(py: Python<'_>, array: &PyArray, mask: &PyArray, number: Number) -> PyResult<bool> {
    let here = array.device.on_host && Arc::ptr_eq(&array.device, &mask.device);
    let is_mask = mask.element.kind == Kind::Bool && array.has_shape(&mask.shape);
    let is_one = array.shape.extents().is_empty();
    if !here || !is_mask || is_one || array.shape.is_empty() || array.element.lanes != 1 {
        return Ok(false);
    }
    let _alone = alone(py)?;
    let (names, leaf) = (mask.leaf(py)?, array.leaf(py)?);
    let (Some(bools), Some(to)) = (address(mask, &names)?, address(array, &leaf)?) else {
        return Ok(false);
    };
    if Arc::ptr_eq(&names.storage, &leaf.storage) && !names.same_place(&leaf) {
        // A bool could be written before it is read.
        return Ok(false);
    }
    compute_readers(py, &leaf.storage, &[])?;
    let (count, size, bits) = (array.shape.count()?, array.element.size(), number.bits);
    // SAFETY: dense arrays of `count` bools and elements of this size, which nobody else uses under the lock of all arrays.
    py.detach(|| unsafe {
        match size {
            1 => fill(bools, to, count, bits as u8),
            2 => fill(bools, to, count, bits as u16),
            4 => fill(bools, to, count, bits as u32),
            _ => fill(bools, to, count, bits),
        }
    });
    Ok(true)
}

/// Writes a value to the elements at an address whose bools are set. A block in which any bool is set is written whole, without
/// branches: bools of a comparison are hard to predict.
///
/// # Safety
/// There are `count` bools and elements of the value's size, aligned or not, and nobody else uses them.
unsafe fn fill<T: Copy>(bools: usize, to: usize, count: usize, value: T) {
    const BLOCK: usize = 64;
    let (mask, elements) = (bools as *const u8, to as *mut T);
    let select = |i: usize| {
        // SAFETY: `i` is below the count.
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
