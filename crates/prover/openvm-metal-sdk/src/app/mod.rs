//! The application proof: one proof for each segment of an execution.

mod chain;
mod check;
mod collect;
mod constraints;
mod job;
mod kept;
mod key;
mod keygen;
mod meter;
mod pipeline;
mod program;
mod prover;
#[cfg(test)]
mod record_tests;
mod resume;
mod runner;
mod segment_queue;
mod sequence;
mod sink;
mod snapshot;
mod snapshot_queue;
#[cfg(test)]
mod tests;
mod tracer;

pub(crate) use check::SegmentCheck;
pub use constraints::CheckedRun;
pub(crate) use kept::Kept;
pub use key::AppKey;
pub(crate) use key::ConfigChips;
pub(crate) use keygen::app_keygen;
pub use meter::MeteredRun;
pub(crate) use meter::{meter, meter_parts, MeterParts};
pub(crate) use program::program_trace;
pub use program::CommittedExe;
pub use prover::AppProver;
pub(crate) use prover::ProvedSegments;
pub use resume::resumed_segment_max_memory;
pub(crate) use resume::{hex, job_id, segment_file, segment_id, Id, ResumeFolder};
pub(crate) use runner::{decoded, execute, executors};
pub(crate) use sink::ProofSink;
pub(crate) use snapshot::Snapshotter;
pub(crate) use tracer::SegmentTracer;
