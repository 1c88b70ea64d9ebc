//! `KeptCodewords`: what a commitment keeps of its codewords, and how many of them exist at once.

use std::ops::Range;

/// In how many parts dropped columns are transformed again for the queries, at least.
const PARTS_AGAIN: usize = 4;
/// In how many windows columns are encoded and hashed that are never kept, at least.
const WINDOWS: usize = 8;

/// Codewords that a commitment keeps. Methods take the columns that a permutation of the hash absorbs as `rate`. The other ones are encoded again when queries are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeptCodewords {
    /// All.
    #[default]
    All,
    /// All until they are hashed, then all but so many of the last columns.
    AllBut(usize),
    /// At most so many of the last columns, so that whole permutations come before them. Those are encoded and hashed first, a window at a time
    /// in the same memory.
    Last(usize),
}

impl KeptCodewords {
    /// Most columns that [`Last`](Self::Last) can keep of `width`: a block of the sponge comes before them.
    pub(crate) fn most_last(width: usize, rate: usize) -> usize {
        match width < 2 * rate {
            true => 0,
            false => width - rate,
        }
    }

    /// The columns that are kept of `width`.
    pub(crate) fn columns(self, width: usize, rate: usize) -> Range<usize> {
        match self {
            Self::All => 0..width,
            Self::AllBut(dropped) => 0..width.saturating_sub(dropped),
            Self::Last(kept) => {
                let before = width - kept.min(Self::most_last(width, rate));
                // The leaves are ended with a whole block or more.
                match before.next_multiple_of(rate) {
                    before if before + rate <= width => before..width,
                    _ => width..width,
                }
            }
        }
    }

    /// The columns of `width` that are not kept: before those that are, and after them.
    pub(crate) fn dropped(self, width: usize, rate: usize) -> [Range<usize>; 2] {
        let kept = self.columns(width, rate);
        [0..kept.start, kept.end..width]
    }

    /// Columns of the largest matrix of codewords that exists of `width`.
    pub(crate) fn at_once(self, width: usize, rate: usize) -> usize {
        match self {
            Self::All | Self::AllBut(_) => width,
            Self::Last(_) => self
                .columns(width, rate)
                .len()
                .max(self.widest_window(width, rate)),
        }
    }

    /// Columns that are transformed again at a time, at most; 0 if all are kept.
    pub(crate) fn columns_again(self, width: usize, rate: usize) -> usize {
        let dropped = width - self.columns(width, rate).len();
        match self {
            Self::Last(_) => dropped.div_ceil(WINDOWS).next_multiple_of(rate),
            _ => dropped.div_ceil(PARTS_AGAIN),
        }
    }

    /// The windows of the columns that never exist together: whole permutations but for the last if no column comes after it. That one has
    /// those of a permutation at least, if there are as many.
    pub(crate) fn windows(self, width: usize, rate: usize) -> Vec<Range<usize>> {
        let Self::Last(_) = self else {
            return Vec::new();
        };
        let (kept, step) = (
            self.columns(width, rate),
            self.columns_again(width, rate).max(1),
        );
        let blocks = match kept.is_empty() {
            true => width.saturating_sub(rate) / rate * rate,
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
    pub(crate) fn widest_window(self, width: usize, rate: usize) -> usize {
        let windows = self.windows(width, rate);
        windows.iter().map(Range::len).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows follow each other to the kept columns or the end, in multiples of a block but for a last one that has a whole block.
    #[test]
    fn windows_are_blocks_of_the_sponge() {
        for (width, rate) in (1..200).flat_map(|width| [(width, 8), (width, 16)]) {
            for most in 0..width + 9 {
                let kept = KeptCodewords::Last(most);
                let (columns, again) = (kept.columns(width, rate), kept.columns_again(width, rate));
                assert!(columns.end == width && columns.len() <= most);
                assert!(columns.is_empty() || columns.len() >= rate);
                let windows = kept.windows(width, rate);
                let mut at = 0;
                for (i, window) in windows.iter().enumerate() {
                    assert_eq!(window.start, at);
                    at = window.end;
                    let is_last = columns.is_empty() && i + 1 == windows.len();
                    assert!(is_last || window.len().is_multiple_of(rate));
                    assert!(
                        !is_last || window.len() >= rate.min(width),
                        "{width} {windows:?}"
                    );
                    assert!(window.len() < again + 2 * rate);
                }
                assert_eq!(at, columns.start);
                assert!(windows.len() <= WINDOWS + 1);
                assert_eq!(kept.dropped(width, rate), [0..columns.start, width..width]);
            }
            let most = KeptCodewords::most_last(width, rate);
            let kept = KeptCodewords::Last(most).columns(width, rate).len();
            assert!(kept <= most && kept + rate > most, "{width}");
        }
        assert!(KeptCodewords::All.windows(40, 8).is_empty());
        assert_eq!(KeptCodewords::AllBut(3).dropped(8, 8), [0..0, 5..8]);
    }
}
