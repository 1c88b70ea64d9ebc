//! Losses: means over pairs of prediction and target; the result is element 0 of `output`.

use hologram_backends::LossOp;

use super::raw;
use crate::buffer::Buffer;
use crate::element::Float;
use crate::error::Result;
use crate::executor::Executor;

macro_rules! losses {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// Buffers that are too short or of another executor.
        pub fn $name<T: Float>(
            exec: &Executor,
            predicted: &Buffer<T>,
            target: &Buffer<T>,
            output: &Buffer<T>,
            n: usize,
        ) -> Result<()> {
            raw::loss(
                exec,
                LossOp::$op,
                predicted.span(),
                target.span(),
                output.span(),
                n,
            )
        }
    )*};
}

losses! {
    /// Mean of (p - t)^2; NaN of none.
    mse Mse;
    /// Minus the mean of t ln p; NaN of none.
    cross_entropy CrossEntropy;
    /// Minus the mean of t ln p + (1 - t) ln(1 - p); NaN of none.
    binary_cross_entropy BinaryCrossEntropy;
}
