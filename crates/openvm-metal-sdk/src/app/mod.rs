//! The application proof: one proof for each segment of an execution.

mod key;
mod program;
mod prover;
mod worker;

pub(crate) use key::transport_key;
pub use key::AppKey;
pub use program::CommittedExe;
pub use prover::AppProver;
pub use worker::MeteredRun;
