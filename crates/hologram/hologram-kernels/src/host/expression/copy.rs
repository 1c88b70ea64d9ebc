//! Copies without a column between: row by row where the elements of rows are neighbours in both views, tile by tile where one
//! view is transposed, so that both are accessed along their rows.

use super::super::parallel::{all_at_once, ranges, Shared};
use super::walk::{Form, Runs, Space};
use super::View;

/// Rows and columns of a tile.
const TILE: usize = 32;

/// Copies the elements of the first view to the second, if the elements of each row are neighbours in both and one view is not
/// dense; false if they are not.
///
/// # Safety
/// Both views have the space's elements of `size` bytes, in live memory, and do not overlap unless they are the same.
pub(super) unsafe fn rows(space: &Space, size: usize, from: &View, to: &View) -> bool {
    let dense = |view| space.form(view, size) == Form::Dense;
    if !(0..2).all(|view| space.has_dense_rows(view, size)) || (dense(0) && dense(1)) {
        return false;
    }
    let shape = &space.shape[..];
    let (src, dst) = (Shared(from.ptr), Shared(to.ptr));
    ranges(shape.iter().product(), 2 * size, |range| {
        let runs = |view: usize| Runs::new(shape, &space.strides[view], range.start, range.len());
        let (mut reads, mut writes) = (runs(0), runs(1));
        while let (Some((read, len)), Some((write, _))) = (reads.next(), writes.next()) {
            // SAFETY: the caller's promise: elements of a row of both views; ranges are disjoint.
            unsafe {
                let from = src.at(0).offset(read).cast_const();
                std::ptr::copy(from, dst.at(0).offset(write), len * size);
            }
        }
        true
    });
    true
}

/// Copies the elements of the first view to the second, if that is dense and rows of the last two dimensions of the first lie
/// across; false if they do not.
///
/// # Safety
/// Both views have the space's elements of `size` bytes, in live memory, and do not overlap.
pub(super) unsafe fn transposed(space: &Space, size: usize, from: &View, to: &View) -> bool {
    let (shape, strides) = (&space.shape, &space.strides[0]);
    let Some(outer) = shape.len().checked_sub(2) else {
        return false;
    };
    let (rows, cols) = (shape[outer], shape[outer + 1]);
    let across = strides[outer] == size as isize && rows >= TILE && cols >= TILE;
    if !across || space.form(1, size) != Form::Dense {
        return false;
    }
    let matrices: usize = shape[..outer].iter().product();
    let strips = rows.div_ceil(TILE);
    let (src, dst) = (Shared(from.ptr), Shared(to.ptr));
    let step = strides[outer + 1];
    all_at_once(
        matrices * strips,
        matrices * rows * cols,
        2 * size,
        |unit| {
            let (matrix, strip) = (unit / strips, unit % strips);
            let (mut rest, mut offset) = (matrix, 0isize);
            for d in (0..outer).rev() {
                offset += (rest % shape[d]) as isize * strides[d];
                rest /= shape[d];
            }
            let first = strip * TILE;
            let count = TILE.min(rows - first);
            // SAFETY: the strip's first element of either view, within it; strips are disjoint.
            let (src, dst) = unsafe {
                (
                    src.at(0).offset(offset).add(first * size).cast_const(),
                    dst.at((matrix * rows + first) * cols * size),
                )
            };
            // SAFETY: the strip's elements.
            unsafe {
                match size {
                    1 => copy_strip::<u8>(src, step, dst, count, cols),
                    2 => copy_strip::<u16>(src, step, dst, count, cols),
                    4 => copy_strip::<u32>(src, step, dst, count, cols),
                    _ => copy_strip::<u64>(src, step, dst, count, cols),
                }
            }
        },
    );
    true
}

/// `rows` rows of `cols` elements: element (r, c) is element r of what begins `c * step` bytes from `src` on.
///
/// # Safety
/// These elements are there, and room for them at `dst`.
unsafe fn copy_strip<T: Copy + Default>(
    src: *const u8,
    step: isize,
    dst: *mut u8,
    rows: usize,
    cols: usize,
) {
    let dst = dst.cast::<T>();
    let mut tile = [[T::default(); TILE]; TILE];
    for first in (0..cols).step_by(TILE) {
        let count = TILE.min(cols - first);
        for c in 0..count {
            // SAFETY: the caller's promise.
            unsafe {
                let column = src.offset((first + c) as isize * step).cast::<T>();
                for (r, row) in tile[..rows].iter_mut().enumerate() {
                    row[c] = *column.add(r);
                }
            }
        }
        for (r, row) in tile[..rows].iter().enumerate() {
            // SAFETY: as above.
            unsafe {
                std::ptr::copy_nonoverlapping(row.as_ptr(), dst.add(r * cols + first), count)
            };
        }
    }
}
