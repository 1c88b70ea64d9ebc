//! Events of a proof, for observers.

use std::path::Path;

use crate::unread::Unread;

/// Receives events. Several threads call, in the order in which steps end: it differs from run to run, the proof does
/// not.
pub trait Progress: Send + Sync {
    /// Something was done.
    fn event(&self, event: Event<'_>);
}

/// Nobody watches.
impl Progress for () {
    fn event(&self, _: Event<'_>) {}
}

/// Something that was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// Work before the first segment begins: `deferred inputs`, `application keys`, `device and program commitment`, or `aggregation keys` where segments wait
    /// for them.
    Preparing { work: &'a str },
    /// Execution reached the end of segment `segment` (from 0), which has `instructions`.
    SegmentExecuted { segment: usize, instructions: u64 },
    /// The program ended.
    Executed { segments: usize, instructions: u64 },
    /// The execution's aggregation has this many nodes, of all layers.
    NodesCounted { nodes: usize },
    /// The program ended and had not read all of its input.
    InputUnread(Unread),
    /// The traces of a segment are on the device.
    SegmentTraced { segment: usize, instructions: u64 },
    /// The proof of a segment was found in the resume folder.
    SegmentResumed { segment: usize, instructions: u64 },
    /// A file of the resume folder holds no proof of its part of the job. It has another name now, and the part is proved again.
    SetAside {
        file: &'a Path,
        to: &'a Path,
        reason: &'a str,
    },
    /// OpenVM's verifier did not accept the proof of a segment that a device made. It is made again; a device that is `excluded`, after
    /// two such proofs, makes no more in this job.
    SegmentRefused {
        segment: usize,
        device: &'a str,
        reason: &'a str,
        excluded: bool,
    },
    /// OpenVM's verifier did not accept the proof of a node, as [`SegmentRefused`](Self::SegmentRefused).
    NodeRefused {
        layer: &'a str,
        node: usize,
        device: &'a str,
        reason: &'a str,
        excluded: bool,
    },
    /// A segment is proved on a device.
    SegmentProved {
        segment: usize,
        instructions: u64,
        device: &'a str,
    },
    /// The proof of node `node` (from 0) of an aggregation layer was found in the resume folder.
    NodeResumed {
        layer: &'a str,
        node: usize,
        nodes: Option<usize>,
    },
    /// Node `node` (from 0) of an aggregation layer is proved on a device; of `nodes`, if it is known how many there
    /// will be.
    NodeProved {
        layer: &'a str,
        node: usize,
        nodes: Option<usize>,
        device: &'a str,
    },
    /// The aggregated proof was accepted by OpenVM's verifier.
    Verified,
}
