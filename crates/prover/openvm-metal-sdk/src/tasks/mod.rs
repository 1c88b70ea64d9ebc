//! One proof by many processes: a plan of an execution, and the single tasks that it consists of.
//!
//! ```text
//! Sdk::plan ──► Plan ──► SegmentWorker::prove(k) ─┐
//!                   ├──► SegmentWorker::end() ────┼──► Sdk::prove_node(level, i) ──► TaskVerifier::assemble
//! ```
//!
//! * [`Plan`]: where an execution is cut, what has to be proved, and which proofs a node verifies. It is JSON.
//! * [`Task`], [`TaskId`]: a segment, the end of the execution, a node of the aggregation; the hash that identifies each.
//! * [`SegmentWorker`]: proves any segment of a plan, several at a time. It executes the program up to the segment by itself, so
//!   that nothing but the plan, program and input have to reach the process.
//! * [`TaskVerifier`]: whether what somebody else made is the proof of the task, and not only a valid proof.
//! * [`JobFolder`]: finished tasks in files, shared with `openvm-metal prove --resume`.
//!
//! The grouping is that of `aggregation`. Scheduling is left to the caller.

mod folder;
mod line;
mod machines;
mod nodes;
mod plan;
mod verify;
mod walk;
mod worker;

pub use crate::span::Span;
pub use folder::JobFolder;
pub use plan::{Plan, Task, TaskId};
pub use verify::TaskVerifier;
pub use worker::{SegmentWorker, WorkerThreads};
