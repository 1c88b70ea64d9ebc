//! LogUp through GKR: the fractional sumcheck (docs/gkr.md).

mod config;
mod device_rounds;
mod error;
mod host;
mod layer;
mod prover;
mod round;
mod tree;

pub use config::GkrConfig;
pub use error::GkrError;
pub use layer::{FracLayer, Numerators};
pub use prover::fractional_sumcheck;
