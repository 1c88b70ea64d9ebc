//! `KeptCodewords`: what a commitment keeps of its codewords, and how many of them exist at once.

use std::ops::Range;

use crate::prelude::RATE;

/// In how many parts dropped columns are encoded again for the queries, at least.
const PARTS_AGAIN: usize = 4;
/// In how many windows columns are encoded and hashed that are never kept, at least.
const WINDOWS: usize = 8;

/// What a commitment keeps of its codewords. What it does not keep is encoded again when queries are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeptCodewords {
    /// All.
    #[default]
    All,
    /// All until they are hashed, then all but so many of the last columns.
    AllBut(usize),
    /// So many of the first columns, rounded down to a multiple of 8. The others are encoded and hashed a window at a time in the same memory.
    First(usize),
}

impl KeptCodewords {
    /// Most columns that [`First`](Self::First) can keep of `width`: the last window has a whole block of the sponge.
    pub(crate) fn most_first(width: usize) -> usize {
        width.saturating_sub(RATE) / RATE * RATE
    }

    /// Columns that are kept of `width`, the first ones.
    pub(crate) fn columns(self, width: usize) -> usize {
        match self {
            Self::All => width,
            Self::AllBut(dropped) => width.saturating_sub(dropped),
            Self::First(kept) => kept.min(Self::most_first(width)) / RATE * RATE,
        }
    }

    /// Columns of the largest matrix of codewords that exists of `width`.
    pub(crate) fn at_once(self, width: usize) -> usize {
        match self {
            Self::All | Self::AllBut(_) => width,
            Self::First(_) => self.columns(width).max(self.widest_window(width)),
        }
    }

    /// Columns that are encoded again at a time, at most; 0 if all are kept.
    pub(crate) fn columns_again(self, width: usize) -> usize {
        let dropped = width - self.columns(width);
        match self {
            Self::First(_) => dropped.div_ceil(WINDOWS).next_multiple_of(RATE),
            _ => dropped.div_ceil(PARTS_AGAIN),
        }
    }

    /// The windows of the columns that never exist together: multiples of 8 columns but for the last, which has at least 8 if
    /// there are as many.
    pub(crate) fn windows(self, width: usize) -> Vec<Range<usize>> {
        let Self::First(_) = self else {
            return Vec::new();
        };
        let (first, step) = (self.columns(width), self.columns_again(width));
        let last = Self::most_first(width);
        let mut windows: Vec<_> = (first..last)
            .step_by(step.max(1))
            .map(|start| start..(start + step).min(last))
            .collect();
        // What is left of a block goes with the last one.
        match windows.last_mut() {
            Some(window) if window.len() < step => window.end = width,
            _ => windows.push(windows.last().map_or(first, |window| window.end)..width),
        }
        windows
    }

    /// Columns of the largest window.
    pub(crate) fn widest_window(self, width: usize) -> usize {
        let windows = self.windows(width);
        windows.iter().map(Range::len).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows follow each other to the end, in multiples of a block before a last one that has a whole block.
    #[test]
    fn windows_are_blocks_of_the_sponge() {
        for width in 1..200 {
            for kept in 0..width + 9 {
                let kept = KeptCodewords::First(kept);
                let (first, again) = (kept.columns(width), kept.columns_again(width));
                assert!(first.is_multiple_of(RATE) && first < width);
                let windows = kept.windows(width);
                let mut at = first;
                for (i, window) in windows.iter().enumerate() {
                    assert_eq!(window.start, at);
                    at = window.end;
                    let is_last = i + 1 == windows.len();
                    assert!(is_last || window.len().is_multiple_of(RATE));
                    assert!(
                        !is_last || window.len() >= RATE.min(width),
                        "{width} {windows:?}"
                    );
                    assert!(window.len() < again + 2 * RATE);
                }
                assert_eq!(at, width);
                assert!(windows.len() <= WINDOWS + 1);
            }
        }
        assert!(KeptCodewords::All.windows(40).is_empty());
    }
}
