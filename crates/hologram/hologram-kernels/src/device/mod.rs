//! Whole-buffer operations on devices of `openvm-metal-common`, by the kernels under `metal/`.
//!
//! `f64` is refused on Apple GPUs. Functions are within 4 ULP (on Apple GPUs as the platform's precise functions are).

mod elementwise;
mod fold;
mod gemm;
mod gemm_units;
mod launch;
mod rows;
mod sort;

use openvm_metal_common::{CommandStream, DeviceProfile, MetalBuffer, MetalError, MetalSlice};

use crate::host::{self, HostError};
pub use crate::kernels::LIBRARY;
pub use sort::{order, sort};

/// Metal text of `power(x, y)` of 64-bit floats, for kernels made at run time: needs `wide`, a 64-bit float, and
/// `POWER_CALL`, what stands before functions.
pub const POWER: &str = include_str!("../../metal/power.h");

/// Metal text of `real_sin(x)`, `real_cos(x)` and `real_tan(x)` of 64-bit floats, for kernels made at run time: needs `wide`, and
/// `ANGLE_CALL`, what stands before the function that they share.
pub const ANGLES: &str = include_str!("../../metal/angles.h");

use crate::{Operation, Ty};

/// An operand's bytes in device memory.
#[derive(Clone, Copy)]
pub struct DeviceSpan<'a> {
    /// Memory that begins at a multiple of 16 bytes, as whole buffers do.
    pub memory: MetalSlice<'a, u8>,
    /// First byte of the operand, a multiple of the element's size.
    pub offset: usize,
}

/// Errors of an operation on a device.
#[derive(Clone, Debug, thiserror::Error)]
pub enum DeviceError {
    /// Error that the host's operations have as well: the type, the operands, division of an integer by a constant zero.
    #[error(transparent)]
    Call(#[from] HostError),
    /// A feature that this device lacks.
    #[error("not on this device: {0}")]
    Unsupported(&'static str),
    /// The device failed.
    #[error(transparent)]
    Device(#[from] MetalError),
}

/// An operation that is encoded and may have divided by zero.
#[must_use = "a division by zero is found by `divided_by_zero`"]
#[derive(Default)]
pub struct Launched {
    fault: Option<MetalBuffer<u32>>,
}

impl Launched {
    /// True if the answer is known without waiting.
    pub fn is_certain(&self) -> bool {
        self.fault.is_none()
    }

    /// True if an integer was divided by zero; waits if it must.
    ///
    /// # Errors
    /// Those of the device.
    pub fn divided_by_zero(self, stream: &CommandStream) -> Result<bool, MetalError> {
        match self.fault {
            Some(fault) => Ok(fault.to_host(stream)?.first() != Some(&0)),
            None => Ok(false),
        }
    }
}

/// Encodes an operation: `spans` are its operands, the written one first. They may overlap as on the
/// host ([`crate::host::run`]). The stream's context was made with [`LIBRARY`].
///
/// # Errors
/// Every [`DeviceError`], before anything is encoded but for those of the device.
pub fn run(
    operation: &Operation,
    stream: &CommandStream,
    spans: &[DeviceSpan<'_>],
) -> Result<Launched, DeviceError> {
    check(operation, stream.context().device_profile(), spans)?;
    let call = launch::Call::new(operation, stream, spans)?;
    match *operation {
        Operation::Map { op, count, .. } => call.map(op.code().into(), [0, 0], count)?,
        Operation::Clip {
            low, high, count, ..
        } => call.map(elementwise::CLIP, [low, high], count)?,
        Operation::Fill { value, count, .. } => {
            call.map(elementwise::FILL, [value, value], count)?;
        }
        Operation::MapBinary { op, count, .. } => return call.zip(op, None, count),
        Operation::MapScalar {
            op, value, count, ..
        } => return call.zip(op, Some(value), count),
        Operation::Reduce { op, count, .. } => call.reduce(op, count)?,
        Operation::Loss { op, count, .. } => call.loss(op, count)?,
        Operation::Softmax { rows, cols, .. } => call.softmax(rows, cols)?,
        Operation::LayerNorm {
            rows,
            cols,
            epsilon,
            ..
        } => call.layer_norm(rows, cols, epsilon.value())?,
        Operation::Gemm { m, n, k, .. } => call.gemm(m, n, k)?,
    }
    Ok(Launched::default())
}

/// Tells if a device with this profile has an operation.
///
/// # Errors
/// [`DeviceError::Unsupported`].
pub fn supports(operation: &Operation, profile: &DeviceProfile) -> Result<(), DeviceError> {
    if operation.ty() == Ty::F64 && !profile.double_precision {
        return Err(DeviceError::Unsupported("f64"));
    }
    Ok(())
}

/// Checks the operation and its operands.
fn check(
    operation: &Operation,
    profile: &DeviceProfile,
    spans: &[DeviceSpan<'_>],
) -> Result<(), DeviceError> {
    host::check(operation, |index| {
        let span = spans.get(index)?;
        let len = span.memory.len().saturating_sub(span.offset);
        Some((span.offset, len as u64))
    })?;
    supports(operation, profile)
}
