//! `KeptCodewords`: what a commitment keeps of its codewords, and how many of them exist at once.

use std::ops::Range;

use crate::prelude::RATE;

/// In how many parts dropped columns are transformed again for the queries, at least.
const PARTS_AGAIN: usize = 4;
/// In how many windows columns are encoded and hashed that are never kept, at least.
const WINDOWS: usize = 8;
/// Columns of two blocks of the sponge.
const BLOCKS: usize = 2 * RATE;

/// Codewords that a commitment keeps. The other ones are encoded again when queries are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeptCodewords {
    /// All.
    #[default]
    All,
    /// All until they are hashed, then all but so many of the last columns.
    AllBut(usize),
    /// At most so many of the last columns, so that a multiple of 8 comes before them. Those are encoded and hashed first, a window at a time
    /// in the same memory.
    Last(usize),
}

impl KeptCodewords {
    /// Most columns that [`Last`](Self::Last) can keep of `width`: a block of the sponge comes before them.
    pub(crate) fn most_last(width: usize) -> usize {
        match width {
            0..BLOCKS => 0,
            _ => width - RATE,
        }
    }

    /// The columns that are kept of `width`.
    pub(crate) fn columns(self, width: usize) -> Range<usize> {
        match self {
            Self::All => 0..width,
            Self::AllBut(dropped) => 0..width.saturating_sub(dropped),
            Self::Last(kept) => {
                let before = width - kept.min(Self::most_last(width));
                // The leaves are ended with a whole block or more.
                match before.next_multiple_of(RATE) {
                    before if before + RATE <= width => before..width,
                    _ => width..width,
                }
            }
        }
    }

    /// The columns of `width` that are not kept: before those that are, and after them.
    pub(crate) fn dropped(self, width: usize) -> [Range<usize>; 2] {
        let kept = self.columns(width);
        [0..kept.start, kept.end..width]
    }

    /// Columns of the largest matrix of codewords that exists of `width`.
    pub(crate) fn at_once(self, width: usize) -> usize {
        match self {
            Self::All | Self::AllBut(_) => width,
            Self::Last(_) => self.columns(width).len().max(self.widest_window(width)),
        }
    }

    /// Columns that are transformed again at a time, at most; 0 if all are kept.
    pub(crate) fn columns_again(self, width: usize) -> usize {
        let dropped = width - self.columns(width).len();
        match self {
            Self::Last(_) => dropped.div_ceil(WINDOWS).next_multiple_of(RATE),
            _ => dropped.div_ceil(PARTS_AGAIN),
        }
    }

    /// The windows of the columns that never exist together: multiples of 8 columns but for the last if no column comes after it. That one has
    /// at least 8 if there are as many.
    pub(crate) fn windows(self, width: usize) -> Vec<Range<usize>> {
        let Self::Last(_) = self else {
            return Vec::new();
        };
        let (kept, step) = (self.columns(width), self.columns_again(width).max(1));
        let blocks = match kept.is_empty() {
            true => width.saturating_sub(RATE) / RATE * RATE,
            false => kept.start,
        };
        let starts = (0..blocks).step_by(step);
        let mut windows: Vec<_> = starts
            .map(|start| start..(start + step).min(blocks))
            .collect();
        if !kept.is_empty() {
            return windows;
        }
        // What is left of a block goes with the last one.
        match windows.last_mut() {
            Some(window) if window.len() < step => window.end = width,
            _ => windows.push(blocks..width),
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

    /// Windows follow each other to the kept columns or the end, in multiples of a block but for a last one that has a whole block.
    #[test]
    fn windows_are_blocks_of_the_sponge() {
        for width in 1..200 {
            for most in 0..width + 9 {
                let kept = KeptCodewords::Last(most);
                let (columns, again) = (kept.columns(width), kept.columns_again(width));
                assert!(columns.end == width && columns.len() <= most);
                assert!(columns.is_empty() || columns.len() >= RATE);
                let windows = kept.windows(width);
                let mut at = 0;
                for (i, window) in windows.iter().enumerate() {
                    assert_eq!(window.start, at);
                    at = window.end;
                    let is_last = columns.is_empty() && i + 1 == windows.len();
                    assert!(is_last || window.len().is_multiple_of(RATE));
                    assert!(
                        !is_last || window.len() >= RATE.min(width),
                        "{width} {windows:?}"
                    );
                    assert!(window.len() < again + 2 * RATE);
                }
                assert_eq!(at, columns.start);
                assert!(windows.len() <= WINDOWS + 1);
                assert_eq!(kept.dropped(width), [0..columns.start, width..width]);
            }
            let most = KeptCodewords::most_last(width);
            let kept = KeptCodewords::Last(most).columns(width).len();
            assert!(kept <= most && kept + RATE > most, "{width}");
        }
        assert!(KeptCodewords::All.windows(40).is_empty());
        assert_eq!(KeptCodewords::AllBut(3).dropped(8), [0..0, 5..8]);
    }
}
