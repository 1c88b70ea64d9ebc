//! What can go wrong in the fractional sumcheck.

use openvm_metal_common::MetalError;

/// Why the fractional sumcheck was not done.
#[derive(Debug, thiserror::Error)]
pub enum GkrError {
    /// The sum of all fractions has a numerator, and the caller asked for zero: the interactions do
    /// not balance.
    #[error("fractional sumcheck: the sum of the fractions is not zero")]
    NonZeroRootSum,
    /// The leaves have a length that no tree has.
    #[error(
        "fractional sumcheck: {numerators} numerators and {denominators} denominators, \
         where a power of two from 2 to 2^32 of both is needed"
    )]
    LayerShape {
        /// Number of numerators.
        numerators: usize,
        /// Number of denominators.
        denominators: usize,
    },
    /// The device or its memory.
    #[error(transparent)]
    Device(#[from] MetalError),
}
