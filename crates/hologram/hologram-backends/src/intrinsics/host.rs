//! Calls on host memory.

use hologram_kernels::host::{self, HostError};

pub use hologram_kernels::host::HostSpan;

use super::IntrinsicCall;
use crate::error::FaultKind;

/// Runs a call on host memory: `spans` are its operands in the order of [`IntrinsicCall::operands`],
/// the written one first, and long enough. The call satisfies [`IntrinsicCall::check_form`].
///
/// # Errors
/// [`FaultKind::DivisionByZero`] of integers (what is written is then unspecified);
/// [`FaultKind::MisalignedOperand`] and [`FaultKind::BufferOutOfBounds`] for spans that do not fit, and
/// [`FaultKind::UnsupportedType`] for a type that the operation does not have.
///
/// # Safety
/// Each span is valid for reads and the first one for writes, nobody else writes any of them or reads
/// the first during the call, and they overlap only where [`IntrinsicCall::check_operands`] allows it.
pub unsafe fn run(call: &IntrinsicCall, spans: &[HostSpan]) -> Result<(), FaultKind> {
    // SAFETY: the caller's promises.
    let result = unsafe { host::run(&call.operation(), spans) };
    result.map_err(|error| fault(call, spans, error))
}

fn fault(call: &IntrinsicCall, spans: &[HostSpan], error: HostError) -> FaultKind {
    let handle = |operand: usize| call.operands().all()[operand].operand.buffer.raw();
    match error {
        HostError::DivisionByZero => FaultKind::DivisionByZero,
        HostError::TooShort {
            operand,
            needed,
            len,
        } => FaultKind::BufferOutOfBounds {
            handle: handle(operand),
            offset: 0,
            size: needed,
            buffer_size: len,
        },
        HostError::Misaligned { operand, size } => FaultKind::MisalignedOperand {
            handle: handle(operand),
            offset: spans[operand].ptr as usize as u64,
            size: size as u64,
        },
        HostError::Type { ty, .. } => FaultKind::UnsupportedType { ty },
    }
}
