//! Rows with few elements between them, as those of a matrix without its border: the elements between two rows go through the steps
//! too, and their results are dropped. Operands are then read in place, where each row would be gathered into a column.

use super::walk::{scatter as scatter_view, Form, Space};

/// Elements of a row for each element between it and the next, at least.
const MIN_IN_ROW: usize = 8;

/// Elements from the beginning of one row to that of the next, if all operands of more than one element have the same number and few
/// of them lie between rows. Operands are pairs of an element's size and a form.
pub(super) fn of(space: &Space, operands: impl Iterator<Item = (usize, Form)>) -> Option<usize> {
    let &[rows, row] = &space.shape[..] else {
        return None;
    };
    let mut found = None;
    for (view, (size, form)) in operands.enumerate() {
        match form {
            Form::Single => continue,
            Form::Dense => return None,
            Form::Strided => {}
        }
        let step = usize::try_from(space.strides[view][0]).ok()?;
        let is_other = *found.get_or_insert(step / size) != step / size;
        if is_other || step % size != 0 || !space.has_dense_rows(view, size) {
            return None;
        }
    }
    found.filter(|&pitch| rows > 1 && pitch > row && pitch - row <= row / MIN_IN_ROW)
}

/// Writes the elements of rows to a view of two dimensions, and drops those between rows. `src` has `len` elements of rows that begin
/// every `pitch` elements; its first one has index `at`.
///
/// # Safety
/// The view lies in live memory that nobody else uses; `src` has the elements, outside of the view or exactly in its place.
pub(super) unsafe fn scatter(
    src: *const u8,
    (dst, size): (*mut u8, usize),
    (shape, strides): (&[usize], &[isize]),
    pitch: usize,
    (at, len): (usize, usize),
) {
    let (row, end) = (shape[1], at + len);
    for r in at / pitch..end.div_ceil(pitch) {
        let begin = r * pitch;
        let (first, last) = (begin.max(at), (begin + row).min(end));
        if first >= last {
            continue;
        }
        let offset = r as isize * strides[0] + (first - begin) as isize * strides[1];
        // SAFETY: the caller's promise: elements of row `r` from `first - begin` on, which are as many in `src`.
        unsafe {
            let from = src.add((first - at) * size);
            let to = dst.offset(offset);
            if strides[1] == size as isize {
                // An operand that is written where it is comes from there.
                std::ptr::copy(from, to, (last - first) * size);
            } else {
                let count = last - first;
                scatter_view(from, (to, size), (&[count], &strides[1..]), (0, count));
            }
        }
    }
}
