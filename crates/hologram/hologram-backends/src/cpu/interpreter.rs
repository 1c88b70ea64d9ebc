//! Running programs and whole-buffer operations on host memory, whoever owns it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::Arc;

use super::cache::Cache;
use super::intrinsic;
use super::launch::launch;
use super::memory::{find_buffer, HostMemory, Span};
use super::step::Enqueue;
use crate::backend::launch::ExecutionParams;
use crate::error::{Fault, FaultKind, Result};
use crate::handle::BufferHandle;
use crate::intrinsics::{IntrinsicCall, OperandUse};
use crate::program::Program;
use crate::validate::validate_launch;

/// The interpreter with the programs that it knows.
#[derive(Default)]
pub(crate) struct Interpreter {
    cache: Cache,
    /// Subnormals are zero; true once the last program met one.
    flushed: Option<AtomicBool>,
}

impl Interpreter {
    /// One for which subnormal `f32` are zero.
    pub fn flushing() -> Self {
        Self {
            flushed: Some(AtomicBool::new(false)),
            ..Self::default()
        }
    }

    /// True if the last program met a subnormal that was taken for zero.
    pub fn flushed(&self) -> bool {
        self.flushed.as_ref().is_some_and(|met| met.load(Relaxed))
    }

    /// Programs validated and decoded so far.
    pub fn prepared(&self) -> u64 {
        self.cache.prepared()
    }

    /// Runs a program on some memory; gives its fault. Whole-buffer instructions go to `enqueue` if there is one.
    ///
    /// # Errors
    /// A launch over the limits, a program that is not valid, no memory for the boundary pool.
    pub fn run(
        &mut self,
        program: &Program,
        params: &ExecutionParams,
        memory: &mut HostMemory,
        enqueue: Option<&mut Enqueue<'_>>,
    ) -> Result<Option<Fault>> {
        let (blocks, lanes) = params.launch.check()?;
        let prepared = self.cache.get(program, &params.initial_registers)?;
        if !prepared.intrinsics.is_empty() && blocks * u64::from(lanes) > 1 {
            validate_launch(program, params)?;
        }
        let flag = Arc::new(AtomicU32::new(0));
        let watch = params.watch(flag.clone())?;
        let flushed = self.flushed.as_ref();
        flushed.inspect(|met| met.store(false, Relaxed));
        let mut fault = launch(
            &prepared, params, blocks, lanes, memory, enqueue, &flag, flushed,
        )?;
        if let (Some(Fault { kind, .. }), Some(watch)) = (&mut fault, watch) {
            if *kind == FaultKind::Stopped {
                *kind = watch.kind();
            }
        }
        Ok(fault)
    }
}

/// Runs one whole-buffer operation.
///
/// # Errors
/// Those of [`IntrinsicCall::check`], division by zero, no memory for the boundary pool.
pub(crate) fn run_call(call: &IntrinsicCall, memory: &mut HostMemory) -> Result<()> {
    call.check_form()?;
    let boundary = |used: &OperandUse| {
        let buffer = used.operand.buffer;
        buffer == BufferHandle::BOUNDARY || buffer.as_class().is_some()
    };
    let boundary = if call.operands().all().iter().any(boundary) {
        memory.boundary()?
    } else {
        Span::EMPTY
    };
    let buffers = &memory.buffers;
    let done = intrinsic::run(call, |handle| find_buffer(buffers, boundary, handle));
    done.map_err(|kind| call.fault(kind))
}
