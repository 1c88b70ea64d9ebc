//! Whole-buffer operations on host memory.

use super::lanes::Lanes;
use super::memory::Span;
use super::step::{Memory, Space, Step};
use crate::error::FaultKind;
use crate::intrinsics::host::{self, HostSpan};
use crate::intrinsics::IntrinsicCall;
use crate::isa::Register;

/// Checks the operands and runs the call; `find` gives the bytes of a raw buffer handle.
pub(super) fn run(
    call: &IntrinsicCall,
    find: impl Fn(u64) -> Option<Span>,
) -> Result<(), FaultKind> {
    call.check_operands(|buffer| find(buffer.raw()).map(|span| span.len))?;
    let operands = call.operands();
    let mut spans = [HostSpan {
        ptr: std::ptr::null_mut(),
        len: 0,
    }; 4];
    for (span, used) in spans.iter_mut().zip(operands.all()) {
        let handle = used.operand.buffer.raw();
        let buffer = find(handle).ok_or(FaultKind::InvalidBufferHandle { handle })?;
        *span = HostSpan {
            // SAFETY: the check found the operand inside its buffer.
            ptr: unsafe { buffer.ptr.add(used.operand.offset as usize) },
            len: used.bytes as usize,
        };
    }
    // SAFETY: live buffers that nothing else uses: either no program runs, or one of a single lane whose
    // instruction this is; the check was passed.
    unsafe { host::run(call, &spans[..operands.all().len()]) }
}

/// The instruction number `value` of the program, in its one lane.
pub(super) fn step(l: &Lanes, s: &Step, m: &mut Memory<'_>) {
    let intrinsics = m.intrinsics;
    let Some(intrinsic) = intrinsics.get(s.value as usize) else {
        return;
    };
    let lane = l.first();
    let register = |register: Register| {
        let known = intrinsic.columns.iter().find(|(r, _)| *r == register);
        let handle = known.map(|&(_, column)| l.column::<u64>(column)[lane].get());
        handle.ok_or(FaultKind::InvalidBufferHandle { handle: u64::MAX })
    };
    let call = IntrinsicCall::from_instruction(&intrinsic.instruction, register);
    let result = match call {
        Ok(Some(call)) => match &mut m.enqueue {
            Some(enqueue) => enqueue(intrinsic.pc, &call),
            None => run(&call, |handle| m.find(Space::Global, handle)),
        },
        Ok(None) => Ok(()),
        Err(kind) => Err(kind),
    };
    if let Err(kind) = result {
        l.fail(lane, kind);
    }
}
