//! The application proof: one proof for each segment of an execution.

mod chain;
mod check;
mod circuit;
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
mod segment_memory;
mod segment_queue;
mod sequence;
mod sink;
mod snapshot;
mod snapshot_queue;
mod started;
#[cfg(test)]
mod tests;
mod tracer;

pub(crate) use check::SegmentCheck;
pub(crate) use circuit::{AppCircuit, ConfigChips, MeterParts};
pub use constraints::CheckedRun;
pub(crate) use kept::Kept;
pub use key::AppKey;
pub(crate) use keygen::app_keygen;
pub(crate) use meter::meter;
pub use meter::MeteredRun;
pub(crate) use program::program_trace;
pub use program::CommittedExe;
pub use prover::AppProver;
pub(crate) use prover::ProvedSegments;
pub use resume::resumed_segment_max_memory;
pub(crate) use resume::{hex, job_id, segment_file, segment_id, Id, ResumeFolder};
pub(crate) use runner::{decoded, execute, executors};
pub(crate) use sink::ProofSink;
pub(crate) use snapshot::Snapshotter;
pub(crate) use started::Started;
pub(crate) use tracer::SegmentTracer;
