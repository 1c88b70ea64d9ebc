//! `MetalProverError`: everything that can stop a proof.

/// Why a proof was not made.
#[derive(Debug, thiserror::Error)]
pub enum MetalProverError {
    /// The sum of all interactions is not zero: some message was sent that nobody received.
    #[error("interactions do not balance: the fractional sum of all buses is not zero")]
    InteractionsUnbalanced,
}
