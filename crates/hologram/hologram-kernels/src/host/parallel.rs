//! Large operations cut into pieces for all cores.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use openvm_metal_common::parallel::run;

/// Elements of a piece; a multiple of the block.
pub(super) const PIECE: usize = 1 << 14;
/// Time for which helpers stay awake for the next operation: longer than a piece takes, and than Python between two of them.
const AWAKE: Duration = Duration::from_micros(300);
/// Work below which one core is faster, in bytes that are read and written (or as much time); less in tests, whose arrays are small.
const SMALL: usize = if cfg!(test) { 1 << 19 } else { 1 << 21 };

/// A pointer that pieces on several threads may use, each in its own range.
#[derive(Clone, Copy)]
pub(super) struct Shared<T>(pub *mut T);
// SAFETY: whoever uses the pointer keeps to a range of its own.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// The element at `index`.
    ///
    /// # Safety
    /// It lies in the memory that the pointer is into.
    #[inline(always)]
    pub unsafe fn at(self, index: usize) -> *mut T {
        // SAFETY: the caller's promise.
        unsafe { self.0.add(index) }
    }
}

/// True if `count` elements at `weight` bytes (or equal time) each are worth several threads.
pub(super) fn is_large(count: usize, weight: usize) -> bool {
    count > PIECE && count.saturating_mul(weight) > SMALL && rayon::current_num_threads() > 1
}

/// Runs `work` on ranges that cover `0..count`; false at the first false.
pub(super) fn ranges(
    count: usize,
    weight: usize,
    work: impl Fn(Range<usize>) -> bool + Sync,
) -> bool {
    if !is_large(count, weight) {
        return work(0..count);
    }
    all_pieces(count.div_ceil(PIECE), &|piece| work(piece_of(piece, count)))
}

/// Results of `work` on the pieces of `0..count`, in order; never fewer than one.
pub(super) fn pieces<R: Copy + Send>(
    count: usize,
    weight: usize,
    empty: R,
    work: impl Fn(Range<usize>) -> R + Sync,
) -> Vec<R> {
    let mut results = vec![empty; count.div_ceil(PIECE).max(1)];
    let out = Shared(results.as_mut_ptr());
    let run = |piece: usize| {
        let result = work(piece_of(piece, count));
        // SAFETY: each piece has a place of its own.
        unsafe { out.at(piece).write(result) };
        true
    };
    if is_large(count, weight) {
        all_pieces(results.len(), &run);
    } else {
        let _ = (0..results.len()).all(run);
    }
    results
}

/// Runs `work` for each of `rows` rows of `cols` elements at `weight` each.
pub(super) fn rows(rows: usize, cols: usize, weight: usize, work: impl Fn(Range<usize>) + Sync) {
    if rows < 2 || !is_large(rows.saturating_mul(cols.max(1)), weight) {
        return work(0..rows);
    }
    let per_piece = (PIECE / cols.max(1)).max(1);
    all_pieces(rows.div_ceil(per_piece), &|piece| {
        work(piece * per_piece..rows.min((piece + 1) * per_piece));
        true
    });
}

/// Runs `work` for each of `units` units, which are `count` elements at `weight` each together.
pub(super) fn all_at_once(units: usize, count: usize, weight: usize, work: impl Fn(usize) + Sync) {
    if units < 2 || !is_large(count, weight) {
        return (0..units).for_each(work);
    }
    all_pieces(units, &|unit| {
        work(unit);
        true
    });
}

fn piece_of(piece: usize, count: usize) -> Range<usize> {
    piece * PIECE..count.min((piece + 1) * PIECE)
}

/// Runs `work` on all cores; not generic, so that there is one copy of its machinery. Work that panics on several
/// threads ends the process.
fn all_pieces(pieces: usize, work: &(dyn Fn(usize) -> bool + Sync)) -> bool {
    let is_good = AtomicBool::new(true);
    run(pieces as u64, 1, AWAKE, &|begin, end| {
        let mut wanted = (begin..end).take_while(|_| is_good.load(Ordering::Relaxed));
        if !wanted.all(|piece| work(piece as usize)) {
            is_good.store(false, Ordering::Relaxed);
        }
    });
    is_good.into_inner()
}
