//! Position of the smallest or the largest element: the first of equal ones, the first NaN if there is one.

mod loops;
#[cfg(test)]
mod tests;

use super::extremes::{Highest, Lowest};
use super::walk::{gather, scatter, Form, Space};
use super::{View, COLUMN_BYTES};
use crate::host::element::Element;
use crate::host::half::Format;
use crate::host::parallel::{all_at_once, is_large, pieces, rows, Shared};
use crate::host::reduce::{self, Fold};
use crate::host::vector;
use crate::Ty;
use loops::{Better, Columns, Find, ShortRows};

/// The element that is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extreme {
    /// The smallest one.
    Minimum,
    /// The largest one.
    Maximum,
}

impl Extreme {
    /// The one called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "minimum" => Self::Minimum,
            "maximum" => Self::Maximum,
            _ => return None,
        })
    }

    /// Writes the index of the first such element of `source` along `axis`, or among all elements in row-major order, to
    /// `target`, row-major over the other dimensions. A NaN counts as both the smallest and the largest one.
    ///
    /// # Safety
    /// `source` is a view of `shape` of elements of `ty`, aligned, in live memory that nobody writes meanwhile; `target` is
    /// valid for writes of an element for each index of the other dimensions and overlaps nothing. `axis` is less than the
    /// number of dimensions, and what is looked through has an element.
    pub unsafe fn positions(
        self,
        ty: Ty,
        shape: &[usize],
        axis: Option<usize>,
        source: &View,
        target: *mut i64,
    ) {
        let half = Format::of(ty);
        let plan = Plan::new(shape, axis, source, ty);
        macro_rules! with {
            ($t:ty) => {
                match self {
                    Self::Minimum => found::<$t, _>(&plan, half, Lowest),
                    Self::Maximum => found::<$t, _>(&plan, half, Highest),
                }
            };
        }
        // SAFETY: the caller's promises.
        let results = unsafe {
            match ty {
                Ty::I8 => with!(i8),
                Ty::I16 => with!(i16),
                Ty::I32 => with!(i32),
                Ty::I64 => with!(i64),
                Ty::U8 => with!(u8),
                Ty::U16 => with!(u16),
                Ty::U32 => with!(u32),
                Ty::U64 => with!(u64),
                // Halves are widened.
                Ty::F32 | Ty::F16 | Ty::Bf16 => with!(f32),
                Ty::F64 => with!(f64),
            }
        };
        let to = (&plan.kept.shape[..], &plan.kept.strides[0][..]);
        let place = (target.cast(), size_of::<i64>());
        if !results.is_empty() {
            // SAFETY: the target has an element for each result.
            unsafe { scatter(results.as_ptr().cast(), place, to, (0, results.len())) };
        }
    }
}

/// Dimensions in the order in which they are walked: some that are kept, those that are looked through, then kept ones that lie
/// closer together.
struct Plan<'a> {
    source: &'a View,
    /// Bytes of an element.
    size: usize,
    space: Space,
    dense: bool,
    outer: usize,
    length: usize,
    inner: usize,
    /// Kept dimensions in that order, with the strides of the target.
    kept: Space,
}

impl<'a> Plan<'a> {
    fn new(shape: &[usize], axis: Option<usize>, source: &'a View, ty: Ty) -> Self {
        let reach = |d: usize| source.strides[d].unsigned_abs();
        let looked = |d: usize| axis.is_none_or(|axis| axis == d);
        let mut order: Vec<usize> = (0..shape.len()).filter(|&d| !looked(d)).collect();
        let mut stride = size_of::<i64>() as isize;
        let mut target = vec![0; shape.len()];
        for &d in order.iter().rev() {
            target[d] = stride;
            stride *= shape[d] as isize;
        }
        order.sort_by_key(|&d| std::cmp::Reverse(reach(d)));
        let closer = |d: usize| axis.is_some_and(|axis| shape[axis] > 1 && reach(d) < reach(axis));
        let group = |d: usize| match (looked(d), closer(d)) {
            (true, _) => 1u8,
            (false, true) => 2,
            (false, false) => 0,
        };
        let part =
            |dims: &[usize], of: &[isize]| -> Vec<isize> { dims.iter().map(|&d| of[d]).collect() };
        let extents = |dims: &[usize]| -> Vec<usize> { dims.iter().map(|&d| shape[d]).collect() };
        let kept = Space::merged(
            &extents(&order),
            &[part(&order, &target)],
            &vec![0; order.len()],
        );
        let mut dims = order;
        dims.extend((0..shape.len()).filter(|&d| looked(d)));
        dims.sort_by_key(|&d| group(d));
        let groups: Vec<u8> = dims.iter().map(|&d| group(d)).collect();
        let space = Space::merged(&extents(&dims), &[part(&dims, &source.strides)], &groups);
        let extent = |wanted: u8| -> usize {
            let dims = dims.iter().filter(|&&d| group(d) == wanted);
            dims.map(|&d| shape[d]).product()
        };
        Self {
            source,
            size: ty.size(),
            dense: space.form(0, ty.size()) == Form::Dense,
            space,
            outer: extent(0),
            length: extent(1),
            inner: extent(2),
            kept,
        }
    }
}

/// An element, and its index among those that are looked through.
type Best<T> = (T, usize);

struct Search<'a, F> {
    plan: &'a Plan<'a>,
    half: Option<Format>,
    op: F,
    /// Elements that are looked at together.
    block: usize,
}

/// Rows below which the elements of one are shared out.
const MANY_ROWS: usize = 8;

/// Results in the order of the kept dimensions.
///
/// # Safety
/// As [`Extreme::positions`]; elements are `T`, or halves, and then `T` is `f32`.
unsafe fn found<T: Element, F: Fold<T> + Better<T>>(
    plan: &Plan<'_>,
    half: Option<Format>,
    op: F,
) -> Vec<i64> {
    let mut results = vec![0; plan.outer * plan.inner];
    let block = COLUMN_BYTES / size_of::<T>();
    let search = Search {
        plan,
        half,
        op,
        block,
    };
    if results.is_empty() {
        return results;
    }
    // SAFETY: the caller's promises.
    unsafe {
        if plan.inner > 1 {
            search.columns::<T>(&mut results);
        } else {
            search.rows::<T>(&mut results);
        }
    }
    results
}

impl<F> Search<'_, F> {
    /// Elements `at..at + len`, at most a block, where they lie or in `scratch`.
    ///
    /// # Safety
    /// Those of [`found`].
    unsafe fn fetch<T: Element>(&self, scratch: &mut Vec<u64>, at: usize, len: usize) -> *const T {
        let (view, size) = (self.plan.source, self.plan.size);
        let room = COLUMN_BYTES / 8;
        if scratch.is_empty() && !(self.plan.dense && self.half.is_none()) {
            scratch.resize(2 * room, 0);
        }
        let middle = scratch.len() / 2;
        let (gathered, widened) = scratch.split_at_mut(middle);
        // SAFETY: the view has these elements; each half of the scratch holds a block.
        unsafe {
            let from: *const u8 = if self.plan.dense {
                view.ptr.add(at * size)
            } else {
                let strides = (&self.plan.space.shape[..], &self.plan.space.strides[0][..]);
                let to = gathered.as_mut_ptr().cast();
                gather((view.ptr, size), strides, (at, len), to);
                to
            };
            let Some(format) = self.half else {
                return from.cast();
            };
            let wide = std::slice::from_raw_parts_mut(widened.as_mut_ptr().cast::<f32>(), len);
            format.widen(from.cast(), wide);
            wide.as_ptr().cast()
        }
    }

    /// Each of `outer` rows.
    ///
    /// # Safety
    /// Those of [`found`].
    unsafe fn rows<T: Element>(&self, results: &mut [i64])
    where
        F: Fold<T> + Better<T>,
    {
        let Plan { outer, length, .. } = *self.plan;
        let weight = size_of::<T>();
        if outer < MANY_ROWS && is_large(length, weight) {
            for (row, result) in results.iter_mut().enumerate() {
                let none = (self.op.empty(), usize::MAX);
                let parts = pieces(length, weight, none, |range| {
                    // SAFETY: the caller's promises.
                    unsafe { self.best(&mut Vec::new(), row * length, range) }
                });
                *result = self.first(&parts).1 as i64;
            }
            return;
        }
        let out = Shared(results.as_mut_ptr());
        let per_block = self.block / length;
        rows(outer, length, weight, |range| {
            let mut scratch = Vec::new();
            if per_block > 1 {
                for row in range.clone().step_by(per_block) {
                    let count = per_block.min(range.end - row);
                    // SAFETY: as below; the block has `count` rows.
                    unsafe {
                        let from = self.fetch::<T>(&mut scratch, row * length, count * length);
                        vector::run(ShortRows {
                            from,
                            to: out.at(row),
                            width: length,
                            count,
                            op: self.op,
                        });
                    }
                }
                return;
            }
            for row in range {
                // SAFETY: the caller's promises; a result for each row.
                unsafe {
                    let (_, index) = self.best(&mut scratch, row * length, 0..length);
                    out.at(row).write(index as i64);
                }
            }
        });
    }

    /// The best of parts that follow each other; there is one.
    fn first<T: Copy>(&self, parts: &[Best<T>]) -> Best<T>
    where
        F: Better<T>,
    {
        let (mut best, rest) = (parts[0], &parts[1..]);
        for &part in rest {
            if self.op.better(part.0, best.0) {
                best = part;
            }
        }
        best
    }

    /// The best of a range, which has an element, of the row that begins at `start`.
    ///
    /// # Safety
    /// Those of [`found`].
    unsafe fn best<T: Element>(
        &self,
        scratch: &mut Vec<u64>,
        start: usize,
        range: std::ops::Range<usize>,
    ) -> Best<T>
    where
        F: Fold<T> + Better<T>,
    {
        // Folded block by block; only the block with the best one is looked through for its place.
        let (mut best, mut at) = ((self.op.empty(), range.start), range.start);
        while at < range.end {
            let len = self.block.min(range.end - at);
            // SAFETY: the caller's promises.
            let from = unsafe { self.fetch::<T>(scratch, start + at, len) };
            let value = reduce::serial(from, len, self.op);
            if at == range.start || self.op.better(value, best.0) {
                best = (value, at);
            }
            if value.is_nan() {
                break;
            }
            at += len;
        }
        let len = self.block.min(range.end - best.1);
        // SAFETY: the caller's promises.
        let from = unsafe { self.fetch::<T>(scratch, start + best.1, len) };
        let value = best.0;
        let index = vector::run(Find {
            from,
            count: len,
            value,
        });
        (value, best.1 + index)
    }

    /// Each of `outer` times `inner` columns.
    ///
    /// # Safety
    /// Those of [`found`].
    unsafe fn columns<T: Element>(&self, results: &mut [i64])
    where
        F: Fold<T> + Better<T>,
    {
        let Plan {
            outer,
            length,
            inner,
            ..
        } = *self.plan;
        let width = inner.min(self.block);
        let chunks = inner.div_ceil(width);
        // Rows that are fetched together.
        let together = (self.block / inner).max(1);
        let tasks = outer * chunks;
        // As many parts as the sizes ask for, whatever the number of threads.
        let parts = if tasks >= MANY_ROWS {
            1
        } else {
            ((length * width) >> 14).clamp(1, 32)
        };
        let per_part = length.div_ceil(parts).next_multiple_of(together);
        let per_part = per_part.min(u32::MAX as usize / together * together);
        let parts = length.div_ceil(per_part);
        let count = results.len();
        let mut values = vec![self.op.empty(); parts * count];
        let mut places = vec![0u32; parts * count];
        let (to, at) = (Shared(values.as_mut_ptr()), Shared(places.as_mut_ptr()));
        let unit = |index: usize| {
            let (part, task) = (index / tasks, index % tasks);
            let (o, chunk) = (task / chunks, task % chunks);
            let first = chunk * width;
            let width = width.min(inner - first);
            let place = part * count + o * inner + first;
            let (begin, end) = (part * per_part, length.min((part + 1) * per_part));
            let mut scratch = Vec::new();
            let mut row = begin;
            while row < end {
                let rows = together.min(end - row);
                let start = (o * length + row) * inner + first;
                // SAFETY: the caller's promises; each unit has results of its own, and several rows are whole ones.
                unsafe {
                    let from = self.fetch::<T>(&mut scratch, start, (rows - 1) * inner + width);
                    vector::run(Columns {
                        from,
                        best: to.at(place),
                        at: at.at(place),
                        width,
                        rows,
                        first: (row - begin) as u32,
                        op: self.op,
                    });
                }
                row += rows;
            }
        };
        all_at_once(parts * tasks, outer * length * inner, size_of::<T>(), unit);
        for (column, result) in results.iter_mut().enumerate() {
            let mut best = (values[column], places[column] as usize);
            for part in 1..parts {
                let here = part * count + column;
                if self.op.better(values[here], best.0) {
                    best = (values[here], part * per_part + places[here] as usize);
                }
            }
            *result = best.1 as i64;
        }
    }
}
