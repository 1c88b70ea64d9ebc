//! Counts of what was submitted.

use serde::Serialize;

use super::in_words;

/// Work that a context handed to its device so far. Times are the expected ones of the plan; they
/// depend on the device, and so does how often a dispatch is cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SubmissionStats {
    /// Submissions, by the stream itself or by a caller.
    pub submissions: u64,
    /// Dispatches that were cut into slices.
    pub dispatches_cut: u64,
    /// Slices of those.
    pub slices: u64,
    /// Expected time of the longest submission in nanoseconds.
    pub longest_ns: u64,
    /// Contents of the longest submission.
    pub longest_held: String,
    /// Expected time of all submissions in nanoseconds.
    pub total_ns: u64,
}

impl SubmissionStats {
    /// Counts a slice: whether it is the first of its dispatch, and whether it leaves nothing.
    pub(super) fn cut(&mut self, first: bool, last: bool) {
        self.dispatches_cut += u64::from(first && !last);
        self.slices += u64::from(!(first && last));
    }

    pub(super) fn submitted(&mut self, nanoseconds: f64, operations: &[&'static str]) {
        let nanoseconds = nanoseconds as u64;
        self.submissions += 1;
        self.total_ns += nanoseconds;
        if nanoseconds > self.longest_ns {
            self.longest_ns = nanoseconds;
            self.longest_held = in_words(operations.iter().copied());
        }
    }
}
