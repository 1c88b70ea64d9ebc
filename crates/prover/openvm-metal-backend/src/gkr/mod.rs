//! LogUp through GKR: the fractional sumcheck (docs/design/gkr.md).

mod device_rounds;
mod device_transcript;
mod host;
mod host_transcript;
mod layer;
mod prover;
mod round;
mod rounds;
mod sizes;
mod tree;

pub use layer::FracLayer;
pub use prover::fractional_sumcheck;
pub(crate) use prover::{fractional_sumcheck_beside, layer_messages};
