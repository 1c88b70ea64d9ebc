//! Folds of buffers; the result is element 0 of `output`, which needs no more than that.

use hologram_backends::ReduceOp;

use super::raw;
use crate::buffer::Buffer;
use crate::element::Number;
use crate::error::Result;
use crate::executor::Executor;

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// Buffers that are too short or of another executor.
        pub fn $name<T: Number>(
            exec: &Executor,
            input: &Buffer<T>,
            output: &Buffer<T>,
            n: usize,
        ) -> Result<()> {
            raw::reduce(exec, ReduceOp::$op, input.span(), output.span(), n)
        }
    )*};
}

reductions! {
    /// `output[0]` = sum, 0 of none; integers wrap, floats are added in an order of the device's choice.
    sum Sum;
    /// `output[0]` = product, 1 of none; integers wrap.
    product Product;
    /// `output[0]` = smallest, the largest value (infinity) of none; NaNs are passed over.
    min Min;
    /// `output[0]` = largest, the smallest value (minus infinity) of none; NaNs are passed over.
    max Max;
}
