//! LogUp through GKR: the fractional sumcheck (docs/gkr.md).

mod device_rounds;
mod host;
mod layer;
mod prover;
mod round;
mod tree;

pub use layer::FracLayer;
pub use prover::fractional_sumcheck;
