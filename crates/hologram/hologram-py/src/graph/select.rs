//! The elements that an array of bools names or decides about, in memory of the host.

use std::sync::Arc;

use pyo3::prelude::*;

use super::alone::alone;
use super::array::PyArray;
use super::compute::compute_readers;
use super::element::Kind;
use super::shape::Shape;
use super::value::Leaf;
use crate::errors::OrRaise;

/// Bools that are looked at together.
const BLOCK: usize = 64;
/// Changes from set to not set and back in a block up to which rows are copied several at a time.
const FEW_CHANGES: u32 = 12;

/// Address of a dense array's first element; None if the elements are not one after the other in the host's memory, and if
/// somebody outside of this package may write them at any time.
///
/// # Errors
/// Errors of the device.
fn dense(array: &PyArray, leaf: &Leaf) -> PyResult<Option<usize>> {
    let buffer = leaf.storage.buffer();
    let end = leaf.offset.checked_add(array.shape.size());
    let end = end.and_then(|end| end.checked_mul(array.element.size()));
    let fits = end.is_some_and(|end| end <= buffer.size_bytes());
    if !fits || leaf.storage.is_exported() || *leaf.strides != **array.shape.dense() {
        return Ok(None);
    }
    let first = buffer.host_pointer().or_raise()?;
    let offset = leaf.offset * array.element.size();
    Ok(first.map(|first| first.as_ptr() as usize + offset))
}

/// Bytes of the rows of `array` that the bools of `mask` name: the mask has the array's first dimensions. None on other devices than the
/// host, and of rows of other sizes than numbers have.
fn row_bytes(array: &PyArray, mask: &PyArray) -> Option<usize> {
    let here = array.device.on_host && Arc::ptr_eq(&array.device, &mask.device);
    let named = mask.shape.extents();
    let starts = !named.is_empty() && array.shape.extents().starts_with(named);
    if !here || mask.element.kind != Kind::Bool || !starts || array.shape.is_empty() {
        return None;
    }
    let inner = &array.shape.extents()[named.len()..];
    let mut extents = inner.iter();
    let size = extents.try_fold(array.element.size(), |size, &extent| {
        size.checked_mul(extent)
    })?;
    matches!(size, 1 | 2 | 4 | 8 | 16).then_some(size)
}

/// A new array of the rows of `array` whose bools in `mask` are set; the mask has the array's first dimensions. None of arrays that are
/// not dense, not on the host or exported, and of rows of other sizes than numbers have.
///
/// # Errors
/// Out of memory, and errors of computing the arrays.
pub fn select(py: Python<'_>, array: &PyArray, mask: &PyArray) -> PyResult<Option<PyArray>> {
    let Some(size) = row_bytes(array, mask) else {
        return Ok(None);
    };
    let _alone = alone(py)?;
    let (from, names) = (array.leaf(py)?, mask.leaf(py)?);
    let (Some(of), Some(bools)) = (dense(array, &from)?, dense(mask, &names)?) else {
        return Ok(None);
    };
    let count = mask.shape.size();
    // SAFETY: a dense array has `count` bools from its first on, which nobody writes under the lock of all arrays.
    let found = py.detach(|| unsafe { number_set(bools, count) });
    let mut shape = vec![found];
    shape.extend_from_slice(&array.shape.extents()[mask.shape.extents().len()..]);
    let made = PyArray::new(py, &array.device, &Shape::new(shape), array.element, false)?;
    if found == 0 {
        return Ok(Some(made));
    }
    let Some(few) = dense(&made, &made.leaf(py)?)? else {
        return Ok(None);
    };
    let rows = Rows {
        of,
        bools,
        few,
        count,
        found,
    };
    // SAFETY: both arrays are dense with `count` rows, the new one with `found`, and nobody writes them under the lock.
    py.detach(|| unsafe { rows.walk(size, false) });
    Ok(Some(made))
}

/// Writes the rows of `values`, of the type and on the device of `array`, to the rows of `array` whose bools in `mask` are set. False of
/// arrays of which [`select`] gives None, of values that are not as many, and where what is written shares memory with one of the others.
///
/// # Errors
/// Errors of computing the arrays.
pub fn store(py: Python<'_>, array: &PyArray, mask: &PyArray, values: &PyArray) -> PyResult<bool> {
    let Some(size) = row_bytes(array, mask) else {
        return Ok(false);
    };
    let inner = &array.shape.extents()[mask.shape.extents().len()..];
    let Some((&found, of_each)) = values.shape.extents().split_first() else {
        return Ok(false);
    };
    if of_each != inner {
        return Ok(false);
    }
    // Refuses a forked process.
    array.device.executor(py)?;
    let _alone = alone(py)?;
    let (to, names, from) = (array.leaf(py)?, mask.leaf(py)?, values.leaf(py)?);
    let others = [&names.storage, &from.storage];
    if others.iter().any(|other| Arc::ptr_eq(other, &to.storage)) {
        return Ok(false);
    }
    let places = (
        dense(array, &to)?,
        dense(mask, &names)?,
        dense(values, &from)?,
    );
    let (Some(of), Some(bools), Some(few)) = places else {
        return Ok(false);
    };
    let count = mask.shape.size();
    // SAFETY: as in `select`.
    if found == 0 || py.detach(|| unsafe { number_set(bools, count) }) != found {
        return Ok(false);
    }
    compute_readers(py, &to.storage, &[])?;
    let rows = Rows {
        of,
        bools,
        few,
        count,
        found,
    };
    // SAFETY: as in `select`; what is written shares memory with neither of the others.
    py.detach(|| unsafe { rows.walk(size, true) });
    Ok(true)
}

/// Number of bools that are set, of `count` at an address.
///
/// # Safety
/// They are there, and nobody writes them.
unsafe fn number_set(bools: usize, count: usize) -> usize {
    // SAFETY: the caller's promise.
    let bools = unsafe { std::slice::from_raw_parts(bools as *const u8, count) };
    bools.chunks(BLOCK).map(set_of).sum()
}

/// Number of bools that are set in a block: a byte has room for it.
fn set_of(block: &[u8]) -> usize {
    let set: u8 = block.iter().map(|&bool| u8::from(bool != 0)).sum();
    usize::from(set)
}

/// Bools of a block as bits, the first one lowest.
fn bits_of(block: &[u8]) -> u64 {
    const LOW: u64 = u64::MAX / 255 * 127;
    // Moves the lowest bit of byte i to bit i of the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let of_eight = |eight: [u8; 8]| {
        let bytes = u64::from_le_bytes(eight);
        // The highest bit of each byte that is not zero.
        let set = (((bytes & LOW) + LOW) | bytes) & !LOW;
        (set >> 7).wrapping_mul(GATHER) >> 56
    };
    let (whole, rest) = block.as_chunks();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let bits = of_eight(last) << (8 * whole.len() % BLOCK);
    let wholes = whole.iter().enumerate();
    wholes.fold(bits, |bits, (i, &eight)| bits | of_eight(eight) << (8 * i))
}

/// Addresses of `count` rows and their bools, and of the `found` rows of those that are set.
struct Rows {
    of: usize,
    bools: usize,
    few: usize,
    count: usize,
    found: usize,
}

impl Rows {
    /// Copies the rows whose bools are set to the few, or the few to these.
    ///
    /// # Safety
    /// The addresses are those of as many rows of `size` bytes, 1 to 16, and of bools of which `found` are set; nobody else uses
    /// what is written, and the three do not overlap.
    unsafe fn walk(&self, size: usize, stores: bool) {
        // SAFETY: the caller's promises.
        unsafe {
            match size {
                1 => self.walk_of::<1>(stores),
                2 => self.walk_of::<2>(stores),
                4 => self.walk_of::<4>(stores),
                8 => self.walk_of::<8>(stores),
                _ => self.walk_of::<16>(stores),
            }
        }
    }

    /// Does the work of [`walk`](Self::walk) for rows of `N` bytes, which need not be aligned.
    ///
    /// # Safety
    /// The promises of [`walk`](Self::walk) hold.
    unsafe fn walk_of<const N: usize>(&self, stores: bool) {
        let (of, few) = (self.of as *mut [u8; N], self.few as *mut [u8; N]);
        let mut at = 0;
        for first in (0..self.count).step_by(BLOCK) {
            let len = BLOCK.min(self.count - first);
            // SAFETY: `first + len` is at most `count`, and `at` at most `found`.
            let (block, rows, some) = unsafe {
                let bools = (self.bools as *const u8).add(first);
                let block = std::slice::from_raw_parts(bools, len);
                (block, of.add(first), few.add(at))
            };
            let (set, left) = (set_of(block), self.found - at);
            // SAFETY: rows of the block, and as many of the few as are set in it.
            unsafe {
                match (set, stores) {
                    (0, _) => {}
                    (_, false) if set == len => some.copy_from_nonoverlapping(rows, len),
                    (_, true) if set == len => rows.copy_from_nonoverlapping(some, len),
                    _ => {
                        let bits = bits_of(block);
                        // Bits that differ from the one before.
                        let changes = (bits ^ (bits << 1)).count_ones();
                        if changes <= FEW_CHANGES {
                            runs(bits, rows, some, stores);
                        } else if stores {
                            spread(block, rows, some, left);
                        } else {
                            choose(block, rows, some, left);
                        }
                    }
                }
            }
            at += set;
        }
    }
}

/// Copies rows whose bits are set to the few, or the few to these, neighbours together.
///
/// # Safety
/// `rows` has a row for each bit up to the highest that is set, `few` one for each bit that is set.
unsafe fn runs<const N: usize>(mut bits: u64, rows: *mut [u8; N], few: *mut [u8; N], stores: bool) {
    let (mut row, mut at) = (0, 0);
    while bits != 0 {
        let skipped = bits.trailing_zeros();
        bits >>= skipped;
        let len = bits.trailing_ones();
        bits = bits.checked_shr(len).unwrap_or(0);
        row += skipped as usize;
        // SAFETY: the caller's promise.
        unsafe {
            let (rows, few) = (rows.add(row), few.add(at));
            let (from, to) = if stores { (few, rows) } else { (rows, few) };
            to.copy_from_nonoverlapping(from, len as usize);
        }
        row += len as usize;
        at += len as usize;
    }
}

/// Copies rows whose bools are set, without branches that are hard to predict: a row that is not wanted is written over.
///
/// # Safety
/// `rows` has a row for each bool, `few` has `left`, at least as many as bools are set.
unsafe fn choose<const N: usize>(
    block: &[u8],
    rows: *const [u8; N],
    few: *mut [u8; N],
    left: usize,
) {
    let mut to = 0;
    for (i, &bool) in block.iter().enumerate() {
        // The few have no row after the last one that is set.
        if to < left {
            // SAFETY: a row of the block, and one of the few.
            unsafe { few.add(to).write(rows.add(i).read()) };
        }
        to += usize::from(bool != 0);
    }
}

/// Copies the few to the rows whose bools are set, in the same way.
///
/// # Safety
/// The promises of [`choose`] hold, and `left` is not 0.
unsafe fn spread<const N: usize>(
    block: &[u8],
    rows: *mut [u8; N],
    few: *const [u8; N],
    left: usize,
) {
    let mut from = 0;
    for (i, &bool) in block.iter().enumerate() {
        // SAFETY: a row of the block, and one of the few, of which `left` is at least 1.
        unsafe {
            let row = rows.add(i);
            let new = few.add(from.min(left - 1));
            let source = if bool == 0 { row.cast_const() } else { new };
            row.write(source.read());
        }
        from += usize::from(bool != 0);
    }
}
