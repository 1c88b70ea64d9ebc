//! Traces that a stacked matrix refers to in place, and traces that it copies.

use std::{cmp::Reverse, ops::Range};

/// Traces that a commitment refers to in place, at most.
const MAX_BY_REFERENCE: usize = 16;
/// Traces below this many cells are copied: a range of copies needs one dispatch where each range of
/// its own needs one in every pass over the stacked matrix.
const MIN_CELLS_BY_REFERENCE: u64 = 1 << 16;
/// Traces below this part of all cells are copied.
const MIN_SHARE_BY_REFERENCE: u64 = 64;

/// Shape of one trace of a commitment: `2^log_height x width`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceShape {
    pub log_height: usize,
    pub width: usize,
}

impl TraceShape {
    /// Cells of the trace in the stacked matrix.
    pub fn stacked_cells(&self, l_skip: usize) -> u64 {
        (self.width as u64) << self.log_height.max(l_skip)
    }
}

/// One range of the stacked matrix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RangePlan {
    /// The cells of this trace, in place.
    InPlace { trace: usize, start: u64, len: u64 },
    /// Copies of these traces, one after the other, then zeros up to `len`.
    Copied {
        traces: Range<usize>,
        start: u64,
        len: u64,
    },
}

/// Cuts a stacked matrix of `total` cells into ranges. `shapes` are sorted by falling height.
pub(crate) fn plan_ranges(shapes: &[TraceShape], l_skip: usize, total: u64) -> Vec<RangePlan> {
    let cells = |trace: usize| shapes[trace].stacked_cells(l_skip);
    let threshold = MIN_CELLS_BY_REFERENCE.max(total / MIN_SHARE_BY_REFERENCE);
    let mut large: Vec<usize> = (0..shapes.len())
        .filter(|&trace| shapes[trace].log_height >= l_skip && cells(trace) >= threshold)
        .collect();
    large.sort_by_key(|&trace| (Reverse(cells(trace)), trace));
    large.truncate(MAX_BY_REFERENCE);
    large.sort_unstable();

    let mut plan = Vec::with_capacity(2 * large.len() + 1);
    let (mut next, mut start) = (0, 0);
    for end in large.iter().copied().chain([shapes.len()]) {
        let last = end == shapes.len();
        let copied: u64 = (next..end).map(cells).sum();
        let len = if last { total - start } else { copied };
        if len > 0 {
            plan.push(RangePlan::Copied {
                traces: next..end,
                start,
                len,
            });
        }
        start += len;
        if !last {
            plan.push(RangePlan::InPlace {
                trace: end,
                start,
                len: cells(end),
            });
            start += cells(end);
        }
        next = end + 1;
    }
    plan
}

/// Cells that a commitment to these traces copies.
pub(crate) fn copied_cells(shapes: &[TraceShape], l_skip: usize, total: u64) -> u64 {
    plan_ranges(shapes, l_skip, total)
        .iter()
        .map(|range| match range {
            RangePlan::Copied { len, .. } => *len,
            RangePlan::InPlace { .. } => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covered(plan: &[RangePlan]) -> u64 {
        plan.iter().fold(0, |at, range| {
            let (RangePlan::InPlace { start, len, .. } | RangePlan::Copied { start, len, .. }) =
                range;
            assert_eq!(*start, at);
            assert!(*len > 0);
            at + len
        })
    }

    #[test]
    fn small_traces_form_one_range() {
        let shapes: Vec<_> = (0..5)
            .map(|i| TraceShape {
                log_height: 5 - i,
                width: 3 + i,
            })
            .collect();
        let plan = plan_ranges(&shapes, 2, 512);
        assert_eq!(
            plan,
            [RangePlan::Copied {
                traces: 0..5,
                start: 0,
                len: 512
            }]
        );
    }

    #[test]
    fn large_traces_stay_in_place() {
        let shapes = [(20, 1), (18, 300), (10, 70), (10, 7), (3, 2)]
            .map(|(log_height, width)| TraceShape { log_height, width });
        let total = 80 << 20;
        let plan = plan_ranges(&shapes, 4, total);
        assert_eq!(covered(&plan), total);
        assert_eq!(
            plan[0],
            RangePlan::Copied {
                traces: 0..1,
                start: 0,
                len: 1 << 20
            }
        );
        assert_eq!(
            plan[1],
            RangePlan::InPlace {
                trace: 1,
                start: 1 << 20,
                len: 300 << 18
            }
        );
        assert_eq!(plan.len(), 3);
        let RangePlan::Copied { traces, .. } = &plan[2] else {
            panic!("copies at the end")
        };
        assert_eq!(*traces, 2..5);
    }

    #[test]
    fn exact_fit_has_no_padding() {
        let shapes = [TraceShape {
            log_height: 20,
            width: 4,
        }];
        let plan = plan_ranges(&shapes, 4, 4 << 20);
        assert_eq!(
            plan,
            [RangePlan::InPlace {
                trace: 0,
                start: 0,
                len: 4 << 20
            }]
        );
    }
}
