//! Folds along dimensions: along rows where the dimension that lies closest in memory is folded, else row by row into columns.

use std::sync::atomic::{AtomicBool, Ordering};

use super::super::element::Element;
use super::super::parallel::{all_at_once, pieces, rows, Shared};
use super::super::reduce::{self, pairs, serial, Fold};
use super::super::vector;
use super::block::{Bound, Scratch};
use super::extremes::{Highest, Lowest};
use super::fold_rows::{Accumulate, Rows, ShortRows};
use super::walk::{scatter, Space};
use super::{Expression, FoldOp, View};
use crate::Ty;

/// Views of a fold.
pub(super) struct Views<'a> {
    pub shape: &'a [usize],
    /// Strides of operands, then of outputs.
    pub strides: Vec<Vec<isize>>,
    pub operands: &'a [View],
    pub scalars: &'a [u64],
    pub outputs: &'a [View],
    /// Flags of the folded dimensions.
    pub folded: &'a [bool],
    pub target: &'a View,
}

/// # Safety
/// Those of [`Expression::run`].
pub(super) unsafe fn run(expression: &Expression, op: FoldOp, views: &Views<'_>) {
    let Some(ty) = expression.fold_type() else {
        return;
    };
    macro_rules! with {
        ($t:ty) => {
            match op {
                FoldOp::Sum => folded::<$t, _>(expression, views, reduce::Sum),
                FoldOp::Product => folded::<$t, _>(expression, views, reduce::Product),
                FoldOp::Minimum => folded::<$t, _>(expression, views, Lowest),
                FoldOp::Maximum => folded::<$t, _>(expression, views, Highest),
            }
        };
    }
    // SAFETY: the caller's promises.
    unsafe {
        match ty {
            Ty::I8 => with!(i8),
            Ty::I16 => with!(i16),
            Ty::I32 => with!(i32),
            Ty::I64 => with!(i64),
            Ty::U8 => with!(u8),
            Ty::U16 => with!(u16),
            Ty::U32 => with!(u32),
            Ty::U64 => with!(u64),
            Ty::F32 => with!(f32),
            Ty::F64 => with!(f64),
            // `Expression::new` has no folds of them.
            Ty::F16 | Ty::Bf16 => {}
        }
    }
}

/// # Safety
/// As [`run`]; the fold is of `T`.
unsafe fn folded<T: Element, F: Fold<T>>(expression: &Expression, views: &Views<'_>, op: F) {
    let order = memory_order(views, expression.operands);
    let last_kept = order.last().is_some_and(|&d| !views.folded[d]);
    // Groups: kept dimensions, folded ones, and kept ones that lie closer together than any folded one.
    let behind = order
        .iter()
        .rposition(|&d| views.folded[d])
        .map_or(0, |at| at + 1);
    let group = |at: usize, d: usize| match views.folded[d] {
        true => 1,
        false if last_kept && at >= behind => 2,
        false => 0u8,
    };
    let mut dims: Vec<(u8, usize)> = order
        .iter()
        .enumerate()
        .map(|(at, &d)| (group(at, d), d))
        .collect();
    dims.sort_by_key(|&(group, _)| group);
    let extent = |wanted: u8| -> usize {
        let dims = dims.iter().filter(|&&(group, _)| group == wanted);
        dims.map(|&(_, d)| views.shape[d]).product()
    };
    let [outer, folded, inner] = [0, 1, 2].map(extent);
    let kept: Vec<usize> = dims
        .iter()
        .filter(|(g, _)| *g != 1)
        .map(|&(_, d)| d)
        .collect();
    let target_space = Space::merged(
        &kept.iter().map(|&d| views.shape[d]).collect::<Vec<_>>(),
        &[kept.iter().map(|&d| views.target.strides[d]).collect()],
        &vec![0; kept.len()],
    );
    let mut results = vec![op.empty(); outer * inner];
    if outer * folded * inner > 0 {
        let space = Space::merged(
            &dims
                .iter()
                .map(|&(_, d)| views.shape[d])
                .collect::<Vec<_>>(),
            &views
                .strides
                .iter()
                .map(|s| dims.iter().map(|&(_, d)| s[d]).collect())
                .collect::<Vec<_>>(),
            &dims.iter().map(|&(group, _)| group).collect::<Vec<_>>(),
        );
        let bound = Bound::new(
            expression,
            space,
            views.operands,
            views.scalars,
            views.outputs,
        );
        let value = expression.fold.map_or(0, |(_, value)| value);
        let work = Folding {
            expression,
            bound,
            value,
            op,
            outer,
            folded,
            inner,
        };
        // SAFETY: the caller's promises.
        unsafe {
            if inner > 1 {
                work.columns(&mut results);
            } else {
                work.rows(&mut results);
            }
        }
    }
    let strides = (&target_space.shape[..], &target_space.strides[0][..]);
    if !results.is_empty() {
        // SAFETY: the target has an element for each index of the kept dimensions.
        unsafe {
            let from = results.as_ptr().cast();
            scatter(
                from,
                (views.target.ptr, size_of::<T>()),
                strides,
                (0, results.len()),
            );
        }
    }
}

/// Dimensions with the largest strides of the operand with most elements first.
fn memory_order(views: &Views<'_>, operands: usize) -> Vec<usize> {
    let reach = |s: &&Vec<isize>| -> usize {
        let dims = s.iter().zip(views.shape).filter(|(&stride, _)| stride != 0);
        dims.map(|(_, &extent)| extent).product()
    };
    let mut order: Vec<usize> = (0..views.shape.len()).collect();
    order.retain(|&d| views.shape[d] != 1);
    // Of equal ones the first, so that results depend on the layout alone.
    if let Some(main) = views.strides[..operands].iter().rev().max_by_key(reach) {
        order.sort_by_key(|&d| std::cmp::Reverse(main[d].unsigned_abs()));
    }
    order
}

struct Folding<'a, F> {
    expression: &'a Expression,
    bound: Bound<'a>,
    value: usize,
    op: F,
    outer: usize,
    folded: usize,
    inner: usize,
}

/// Work for one thread at least.
const MANY_ROWS: usize = 8;

impl<F> Folding<'_, F> {
    /// Each row of `folded` elements into one.
    ///
    /// # Safety
    /// Those of [`Expression::run`].
    unsafe fn rows<T: Element>(&self, results: &mut [T])
    where
        F: Fold<T>,
    {
        let (weight, block) = (self.expression.weight(), self.expression.block);
        if self.outer < MANY_ROWS && self.folded > 2 * block {
            for (row, result) in results.iter_mut().enumerate() {
                let start = row * self.folded;
                let ended = AtomicBool::new(false);
                let mut sums = pieces(self.folded, weight, self.op.empty(), |range| {
                    if ended.load(Ordering::Relaxed) {
                        return self.op.empty();
                    }
                    let sum = self.bound.with_scratch(|scratch| {
                        // SAFETY: the caller's promises; ranges are disjoint.
                        unsafe { self.run_of(scratch, start + range.start, range.len()) }
                    });
                    if self.is_final(sum) {
                        ended.store(true, Ordering::Relaxed);
                    }
                    sum
                });
                *result = pairs(&mut sums, self.op);
            }
            return;
        }
        let out = Shared(results.as_mut_ptr());
        let per_block = block / self.folded;
        rows(self.outer, self.folded, weight, |range| {
            self.bound.with_scratch(|scratch| {
                let mut row = range.start;
                while row < range.end {
                    if per_block < 2 {
                        // SAFETY: as above; a result for each row.
                        unsafe {
                            let sum = self.run_of(scratch, row * self.folded, self.folded);
                            out.at(row).write(sum);
                        }
                        row += 1;
                        continue;
                    }
                    let count = per_block.min(range.end - row);
                    // SAFETY: as above; the block has `count` rows.
                    unsafe {
                        self.bound
                            .compute(scratch, row * self.folded, count * self.folded);
                        let from = scratch.value(self.value).cast::<T>();
                        let width = self.folded;
                        vector::run(ShortRows(Rows {
                            from,
                            to: out.at(row),
                            width,
                            count,
                            op: self.op,
                        }));
                    }
                    row += count;
                }
            });
        });
    }

    /// True if the other elements need not be looked at: they do not change the fold, and nothing of theirs is written.
    fn is_final<T: Element>(&self, total: T) -> bool
    where
        F: Fold<T>,
    {
        let Expression { steps, outputs, .. } = self.expression;
        let fixed = self.expression.types.len() - steps.len();
        let made_by = self.value.checked_sub(fixed).map(|index| &steps[index]);
        let of_truths = made_by.is_some_and(|step| step.op.is_comparison());
        let greatest = if of_truths { T::ONE } else { T::GREATEST };
        outputs.is_empty() && self.op.is_final(total, greatest)
    }

    /// The fold of `count` elements from `start` on.
    ///
    /// # Safety
    /// Those of [`Expression::run`].
    unsafe fn run_of<T: Element>(&self, scratch: &mut Scratch<'_>, start: usize, count: usize) -> T
    where
        F: Fold<T>,
    {
        let (mut total, mut at) = (self.op.empty(), 0);
        while at < count && !self.is_final(total) {
            let len = self.expression.block.min(count - at);
            // SAFETY: the caller's promises.
            unsafe { self.bound.compute(scratch, start + at, len) };
            let sum = serial(scratch.value(self.value).cast::<T>(), len, self.op);
            total = self.op.join(total, sum);
            at += len;
        }
        total
    }

    /// `folded` rows of `inner` elements into one row, for each of `outer`.
    ///
    /// # Safety
    /// Those of [`Expression::run`].
    unsafe fn columns<T: Element>(&self, results: &mut [T])
    where
        F: Fold<T>,
    {
        let block = self.expression.block;
        let width = self.inner.min(block);
        let chunks = self.inner.div_ceil(width);
        // Rows that go through the steps together.
        let together = (block / self.inner).max(1);
        let tasks = self.outer * chunks;
        let work = self.folded * width;
        let parts = if tasks >= MANY_ROWS {
            1
        } else {
            (work >> 14).clamp(1, 16)
        };
        let per_part = self.folded.div_ceil(parts).next_multiple_of(together);
        let parts = self.folded.div_ceil(per_part);
        let mut partial = vec![self.op.empty(); parts * results.len()];
        let out = Shared(partial.as_mut_ptr());
        let unit = |index: usize| {
            let (part, task) = (index / tasks, index % tasks);
            let (o, chunk) = (task / chunks, task % chunks);
            let first = chunk * width;
            let width = width.min(self.inner - first);
            // SAFETY: each unit has elements of its own.
            let to = unsafe { out.at(part * results.len() + o * self.inner + first) };
            self.bound.with_scratch(|scratch| {
                let (mut row, end) = (part * per_part, self.folded.min((part + 1) * per_part));
                while row < end {
                    let count = together.min(end - row);
                    let at = (o * self.folded + row) * self.inner + first;
                    // SAFETY: the caller's promises; units are disjoint, and several rows are whole ones.
                    unsafe {
                        self.bound
                            .compute(scratch, at, (count - 1) * self.inner + width);
                        let from = scratch.value(self.value).cast::<T>();
                        vector::run(Accumulate(Rows {
                            from,
                            to,
                            width,
                            count,
                            op: self.op,
                        }));
                    }
                    row += count;
                }
            });
        };
        all_at_once(
            parts * tasks,
            self.outer * self.folded * self.inner,
            self.expression.weight(),
            unit,
        );
        let (first, rest) = partial.split_at(results.len());
        results.copy_from_slice(first);
        for part in rest.chunks(results.len()) {
            for (result, &sum) in results.iter_mut().zip(part) {
                *result = self.op.join(*result, sum);
            }
        }
    }
}
