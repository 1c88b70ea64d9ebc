//! Copies and fills on the device.

use super::raw;
use crate::buffer::Buffer;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::executor::Executor;

/// All elements of `src` to `dst`, which has as many.
///
/// # Errors
/// Another number of elements; buffers of another executor; the same buffer.
pub fn copy<T: Element>(exec: &Executor, src: &Buffer<T>, dst: &Buffer<T>) -> Result<()> {
    if src.len() != dst.len() {
        return Err(Error::LengthMismatch {
            argument: "dst",
            expected: src.len(),
            actual: dst.len(),
        });
    }
    raw::copy(exec, src.span(), dst.span(), src.len())
}

/// All elements of `dst` = `value`.
///
/// # Errors
/// A buffer of another executor.
pub fn fill<T: Element>(exec: &Executor, dst: &Buffer<T>, value: T) -> Result<()> {
    raw::fill(exec, dst.span(), value.to_bits64(), dst.len())
}

/// `n` elements of `src` to `dst`, converted to its type: integers are cut or extended, floats rounded
/// to the nearest, floats to integers truncated and bounded, NaN is 0. Takes all twelve types.
///
/// # Errors
/// Buffers that are too short or of another executor.
pub fn cast<T: Element, U: Element>(
    exec: &Executor,
    src: &Buffer<T>,
    dst: &Buffer<U>,
    n: usize,
) -> Result<()> {
    super::strided::cast(exec, src, dst, n)
}
