//! Whole-buffer operations by the kernels of `hologram-kernels`.

use hologram_kernels::device::{self, DeviceError, DeviceSpan, Launched};
use hologram_kernels::host::HostError;
use openvm_metal_common::CommandStream;

use super::device_error;
use super::memory::Memory;
use crate::error::{BackendError, FaultKind, Result};
use crate::intrinsics::IntrinsicCall;

/// Checks and encodes a call.
///
/// # Errors
/// Those of [`IntrinsicCall::check`], an operation that the device does not have, the device's own.
pub(super) fn launch_intrinsic(
    call: &IntrinsicCall,
    stream: &CommandStream,
    memory: &mut Memory,
) -> Result<Launched> {
    call.check(|handle| memory.buffer_size(handle).map(|size| size as u64))?;
    let operands = call.operands();
    let mut places = [0; 4];
    for (place, used) in places.iter_mut().zip(operands.all()) {
        let operand = used.operand;
        let range = memory
            .find(stream, operand.buffer)?
            .ok_or(BackendError::InvalidBufferHandle(operand.buffer))?;
        // The check found the operand inside its buffer.
        *place = range.at + operand.offset as usize;
    }
    // Empty buffers have no memory.
    let nothing = (memory.store.base(), 0);
    let spans = places.map(|place| {
        let (memory, offset) = memory.store.around(place).unwrap_or(nothing);
        DeviceSpan { memory, offset }
    });
    device::run(&call.operation(), stream, &spans[..operands.all().len()])
        .map_err(|error| refused(call, error))
}

fn refused(call: &IntrinsicCall, error: DeviceError) -> BackendError {
    match error {
        DeviceError::Call(HostError::DivisionByZero) => call.fault(FaultKind::DivisionByZero),
        DeviceError::Device(error) => device_error(error),
        other => BackendError::UnsupportedOperation(format!("{call}: {other}")),
    }
}
