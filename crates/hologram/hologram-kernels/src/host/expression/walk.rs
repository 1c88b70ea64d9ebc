//! Elements of strided views in row-major order: dimensions merged, blocks gathered and scattered.

/// Extents of a space of indices, with the strides of each view over it, in bytes.
#[derive(Debug)]
pub(super) struct Space {
    pub shape: Vec<usize>,
    /// For each view.
    pub strides: Vec<Vec<isize>>,
}

/// Layout of a view's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// One after the other.
    Dense,
    /// One element for all.
    Single,
    /// Anyhow.
    Strided,
}

impl Space {
    /// The same space with the fewest dimensions in which all views are strided; at least one. Only dimensions of one group
    /// are merged; `strides` has those of each view.
    pub fn merged(shape: &[usize], strides: &[Vec<isize>], groups: &[u8]) -> Self {
        let mut last: Option<usize> = None;
        let mut out = Self {
            shape: Vec::new(),
            strides: vec![Vec::new(); strides.len()],
        };
        for (d, &extent) in shape.iter().enumerate() {
            if extent == 1 {
                continue;
            }
            let joins = last.is_some_and(|last| {
                let continues = |s: &Vec<isize>| s[last] == s[d].wrapping_mul(extent as isize);
                groups[last] == groups[d] && strides.iter().all(continues)
            });
            if let (true, Some(end)) = (joins, out.shape.last_mut()) {
                *end *= extent;
                out.strides.iter_mut().for_each(|o| {
                    o.pop();
                });
            } else {
                out.shape.push(extent);
            }
            for (o, s) in out.strides.iter_mut().zip(strides) {
                o.push(s[d]);
            }
            last = Some(d);
        }
        if out.shape.is_empty() {
            out.shape.push(1);
            out.strides.iter_mut().for_each(|o| o.push(0));
        }
        out
    }

    /// Layout of view number `view` of elements of `size` bytes.
    pub fn form(&self, view: usize, size: usize) -> Form {
        let strides = &self.strides[view];
        if self.shape == [1] {
            return Form::Dense;
        }
        if strides.iter().all(|&s| s == 0) {
            return Form::Single;
        }
        let mut dense = size as isize;
        for (&stride, &extent) in strides.iter().zip(&self.shape).rev() {
            if stride != dense {
                return Form::Strided;
            }
            dense *= extent as isize;
        }
        Form::Dense
    }

    /// Elements of a row: of the last dimension.
    pub fn row(&self) -> usize {
        self.shape[self.shape.len() - 1]
    }

    /// True if the elements of a row of view number `view`, each of `size` bytes, lie one after the other.
    pub fn has_dense_rows(&self, view: usize, size: usize) -> bool {
        self.strides[view].last() == Some(&(size as isize))
    }

    /// Offset in bytes of row-major index `at` of view number `view`.
    pub fn offset(&self, view: usize, at: usize) -> isize {
        let (mut rest, mut offset) = (at, 0);
        for (&extent, &stride) in self.shape.iter().zip(&self.strides[view]).rev() {
            offset += (rest % extent) as isize * stride;
            rest /= extent;
        }
        offset
    }
}

/// A run of elements of a strided view: offset in bytes of the first, and how many.
pub(super) struct Runs<'a> {
    shape: &'a [usize],
    strides: &'a [isize],
    index: Vec<usize>,
    offset: isize,
    left: usize,
}

impl<'a> Runs<'a> {
    /// `count` elements from row-major index `at` on; the shape has a dimension.
    pub fn new(shape: &'a [usize], strides: &'a [isize], at: usize, count: usize) -> Self {
        let mut index = vec![0; shape.len()];
        let (mut rest, mut offset) = (at, 0isize);
        for d in (0..shape.len()).rev() {
            index[d] = rest % shape[d];
            rest /= shape[d];
            offset += index[d] as isize * strides[d];
        }
        Self {
            shape,
            strides,
            index,
            offset,
            left: count,
        }
    }

    /// Offset and length of the next run along the last dimension.
    #[inline]
    pub fn next(&mut self) -> Option<(isize, usize)> {
        if self.left == 0 {
            return None;
        }
        let last = self.shape.len() - 1;
        let count = self.left.min(self.shape[last] - self.index[last]);
        let found = (self.offset, count);
        self.left -= count;
        self.offset += count as isize * self.strides[last];
        self.index[last] += count;
        let mut d = last;
        while self.index[d] == self.shape[d] && d > 0 {
            self.offset -= self.strides[d] * self.shape[d] as isize;
            self.index[d] = 0;
            d -= 1;
            self.index[d] += 1;
            self.offset += self.strides[d];
        }
        Some(found)
    }
}

/// Copies `count` elements from index `at` of a view on to `dst`, one after the other.
///
/// # Safety
/// The view lies in live memory that nobody writes; `dst` has room for the elements and is not part of it.
pub(super) unsafe fn gather(
    (src, size): (*const u8, usize),
    (shape, strides): (&[usize], &[isize]),
    (at, count): (usize, usize),
    dst: *mut u8,
) {
    // SAFETY: the caller's promises.
    unsafe {
        match size {
            1 => gather_typed::<u8>(src, shape, strides, at, count, dst.cast()),
            2 => gather_typed::<u16>(src, shape, strides, at, count, dst.cast()),
            4 => gather_typed::<u32>(src, shape, strides, at, count, dst.cast()),
            _ => gather_typed::<u64>(src, shape, strides, at, count, dst.cast()),
        }
    }
}

/// Elements of a row up to which rows are gathered by one loop.
const SHORT: usize = 8;

unsafe fn gather_typed<T: Copy>(
    src: *const u8,
    shape: &[usize],
    strides: &[isize],
    at: usize,
    count: usize,
    mut dst: *mut T,
) {
    let last = shape.len() - 1;
    let (step, width) = (strides[last], shape[last]);
    let (before, behind) = (at.next_multiple_of(width) - at, (at + count) % width);
    if last > 0 && width <= SHORT && before + behind < count {
        let rows = (count - before - behind) / width;
        let mut runs = Runs::new(&shape[..last], &strides[..last], at.div_ceil(width), rows);
        // SAFETY: `gather` was promised that these elements are there, and room for them.
        unsafe {
            if before > 0 {
                gather_typed(src, shape, strides, at, before, dst);
                dst = dst.add(before);
            }
            while let Some((offset, len)) = runs.next() {
                for row in 0..len as isize {
                    let from = src.offset(offset + row * strides[last - 1]);
                    let copy = |len: usize| {
                        for i in 0..len {
                            *dst.add(i) = *from.offset(i as isize * step).cast();
                        }
                    };
                    match width {
                        // Without a loop.
                        2 => copy(2),
                        3 => copy(3),
                        _ => copy(width),
                    }
                    dst = dst.add(width);
                }
            }
            if behind > 0 {
                gather_typed(src, shape, strides, at + count - behind, behind, dst);
            }
        }
        return;
    }
    let mut runs = Runs::new(shape, strides, at, count);
    while let Some((offset, len)) = runs.next() {
        // SAFETY: `gather` was promised that these elements are there, and room for them.
        unsafe {
            let from = src.offset(offset).cast::<T>();
            if step == size_of::<T>() as isize {
                std::ptr::copy_nonoverlapping(from, dst, len);
            } else if step == 0 {
                let value = *from;
                for i in 0..len {
                    *dst.add(i) = value;
                }
            } else {
                for i in 0..len {
                    *dst.add(i) = *from.byte_offset(i as isize * step);
                }
            }
            dst = dst.add(len);
        }
    }
}

/// Copies `count` elements from `src`, one after the other, to the places of a view from index `at` on.
///
/// # Safety
/// The view lies in live memory that nobody else uses; `src` has the elements, outside of the view or exactly in its place.
pub(super) unsafe fn scatter(
    src: *const u8,
    (dst, size): (*mut u8, usize),
    (shape, strides): (&[usize], &[isize]),
    (at, count): (usize, usize),
) {
    // SAFETY: the caller's promises.
    unsafe {
        match size {
            1 => scatter_typed::<u8>(src.cast(), dst, shape, strides, at, count),
            2 => scatter_typed::<u16>(src.cast(), dst, shape, strides, at, count),
            4 => scatter_typed::<u32>(src.cast(), dst, shape, strides, at, count),
            _ => scatter_typed::<u64>(src.cast(), dst, shape, strides, at, count),
        }
    }
}

unsafe fn scatter_typed<T: Copy>(
    mut src: *const T,
    dst: *mut u8,
    shape: &[usize],
    strides: &[isize],
    at: usize,
    count: usize,
) {
    let step = strides[strides.len() - 1];
    let mut runs = Runs::new(shape, strides, at, count);
    while let Some((offset, len)) = runs.next() {
        // SAFETY: `scatter` was promised that these elements are there.
        unsafe {
            let to = dst.offset(offset);
            if step == size_of::<T>() as isize {
                // An operand that is written where it is comes from there.
                std::ptr::copy(src, to.cast(), len);
            } else {
                for i in 0..len {
                    *to.byte_offset(i as isize * step).cast::<T>() = *src.add(i);
                }
            }
            src = src.add(len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::gather;

    #[test]
    fn elements_are_gathered_from_anywhere_on() {
        let from: Vec<u16> = (0..4000).collect();
        let cases: [(&[usize], &[isize]); 7] = [
            (&[9, 2], &[1, 0]),
            (&[9, 3], &[7, 2]),
            (&[4, 3, 5], &[100, 9, 1]),
            (&[4, 3, 2], &[0, 3, 40]),
            (&[3, 9], &[20, 1]),
            (&[5, 8], &[-10, -1]),
            (&[6], &[3]),
        ];
        for (shape, strides) in cases {
            let bytes: Vec<isize> = strides.iter().map(|stride| 2 * stride).collect();
            let count: usize = shape.iter().product();
            let element = |mut at: usize| {
                let mut place = 1000;
                for (extent, stride) in shape.iter().zip(strides).rev() {
                    place += (at % extent) as isize * stride;
                    at /= extent;
                }
                place as u16
            };
            for (at, end) in (0..count).flat_map(|at| (at..=count).map(move |end| (at, end))) {
                let mut found = vec![9999u16; count];
                // SAFETY: all places lie among the 4000 elements, and there is room for `count`.
                unsafe {
                    let first = from.as_ptr().add(1000).cast();
                    gather(
                        (first, 2),
                        (shape, &bytes),
                        (at, end - at),
                        found.as_mut_ptr().cast(),
                    );
                }
                let (gathered, rest) = found.split_at(end - at);
                assert!(
                    gathered.iter().copied().eq((at..end).map(element)),
                    "{shape:?} {at}..{end}"
                );
                assert!(rest.iter().all(|&x| x == 9999));
            }
        }
    }
}
