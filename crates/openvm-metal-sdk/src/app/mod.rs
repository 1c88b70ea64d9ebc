//! The application proof: one proof for each segment of an execution.

mod chain;
mod check;
mod collect;
mod job;
mod kept;
mod key;
mod machine;
mod pipeline;
mod plan;
mod program;
mod prover;
mod resume;
mod runner;
mod sequence;
mod sink;

pub(crate) use check::SegmentCheck;
pub(crate) use kept::Kept;
pub(crate) use key::transport_key;
pub use key::AppKey;
pub(crate) use machine::Machine;
pub use machine::MeteredRun;
pub use program::CommittedExe;
pub use prover::AppProver;
pub(crate) use resume::{hex, job_id, segment_file, segment_id, Id, ResumeFolder};
pub(crate) use runner::{execute, executor, runner, Runner};
pub(crate) use sink::ProofSink;
