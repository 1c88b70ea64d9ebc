//! The backend's memory and launches.

use std::any::Any;
use std::ptr::NonNull;

use super::interpreter::{run_call, Interpreter};
use super::memory::{HostMemory, Span, SpareBlocks};
use crate::backend::launch::ExecutionParams;
use crate::backend::tickets::{Tickets, Waited};
use crate::backend::Backend;
use crate::error::{BackendError, Fault, Result};
use crate::handle::{BufferHandle, PoolHandle, Ticket};
use crate::intrinsics::IntrinsicCall;
use crate::program::Program;

/// The interpreter on host memory; programs have run when `submit` returns.
#[derive(Default)]
pub struct CpuBackend {
    memory: HostMemory,
    /// Memory of freed buffers.
    spare: SpareBlocks,
    interpreter: Interpreter,
    /// Results that were not waited for.
    tickets: Tickets<Option<Fault>>,
    launches: u64,
}

/// Statistics of a [`CpuBackend`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuStats {
    /// Live buffers.
    pub buffers: u64,
    /// Their bytes.
    pub buffer_bytes: u64,
    /// Live pools.
    pub pools: u64,
    /// Their bytes.
    pub pool_bytes: u64,
    /// Programs that were validated and decoded; launches of known ones do not count.
    pub programs_prepared: u64,
    /// Programs that were run.
    pub launches: u64,
}

impl CpuBackend {
    /// A backend without buffers; costs no memory.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same for which subnormal `f32` are zero where they are computed with and where they would be results, as on Apple GPUs;
    /// moves, selections, signs and conversions keep them.
    pub fn flushing() -> Self {
        Self {
            interpreter: Interpreter::flushing(),
            ..Self::default()
        }
    }

    /// True if the last program met a subnormal that was taken for zero.
    pub fn flushed(&self) -> bool {
        self.interpreter.flushed()
    }

    /// Statistics of the backend.
    pub fn stats(&self) -> CpuStats {
        CpuStats {
            buffers: self.memory.buffers.live(),
            buffer_bytes: self.memory.buffers.bytes(),
            pools: self.memory.pools.live(),
            pool_bytes: self.memory.pools.bytes(),
            programs_prepared: self.interpreter.prepared(),
            launches: self.launches,
        }
    }

    /// The memory.
    pub(crate) fn memory(&mut self) -> &mut HostMemory {
        &mut self.memory
    }

    /// Runs a program; gives its fault.
    pub(crate) fn execute(
        &mut self,
        program: &Program,
        params: &ExecutionParams,
    ) -> Result<Option<Fault>> {
        let fault = self
            .interpreter
            .run(program, params, &mut self.memory, None)?;
        self.launches += 1;
        Ok(fault)
    }

    /// A ticket for what has run.
    pub(crate) fn issue(&mut self, outcome: Option<Fault>) -> Ticket {
        let ticket = self.tickets.issue(outcome);
        while let Some((number, outcome)) = self.tickets.overdue() {
            self.tickets.settle(number, ended(outcome));
        }
        ticket
    }

    fn buffer_range(&mut self, handle: BufferHandle, offset: usize, size: usize) -> Result<Span> {
        let span = self.memory.buffer(handle)?;
        sub_span(span, offset, size).ok_or(BackendError::BufferOutOfBounds {
            handle,
            offset,
            size,
            buffer_size: span.len as usize,
        })
    }

    fn pool_range(&self, handle: PoolHandle, offset: usize, size: usize) -> Result<Span> {
        let span = self.memory.pools.find(handle.raw());
        let span = span.ok_or(BackendError::InvalidPoolHandle(handle))?;
        sub_span(span, offset, size).ok_or(BackendError::PoolOutOfBounds {
            handle,
            offset,
            size,
            pool_size: span.len as usize,
        })
    }
}

/// A fault is the error of its submission.
fn ended(outcome: Option<Fault>) -> Result<()> {
    outcome.map_or(Ok(()), |fault| Err(fault.into()))
}

/// `size` bytes from `offset` on; `None` past the end.
fn sub_span(span: Span, offset: usize, size: usize) -> Option<Span> {
    let end = (offset as u64).checked_add(size as u64)?;
    if end > span.len {
        return None;
    }
    Some(Span {
        // SAFETY: within the span as tested.
        ptr: unsafe { span.ptr.add(offset) },
        len: size as u64,
    })
}

fn write(span: Span, data: &[u8]) {
    debug_assert_eq!(span.len, data.len() as u64);
    // SAFETY: the span is as long as the data; no program runs while the backend is borrowed, and
    // `data` is borrowed from elsewhere.
    unsafe { std::ptr::copy_nonoverlapping(data.as_ptr(), span.ptr, data.len()) }
}

fn read(span: Span, data: &mut [u8]) {
    debug_assert_eq!(span.len, data.len() as u64);
    // SAFETY: as in `write`.
    unsafe { std::ptr::copy_nonoverlapping(span.ptr, data.as_mut_ptr(), data.len()) }
}

impl Backend for CpuBackend {
    fn submit(&mut self, program: &Program, params: &ExecutionParams) -> Result<Ticket> {
        let outcome = self.execute(program, params)?;
        Ok(self.issue(outcome))
    }

    fn wait(&mut self, ticket: Ticket) -> Result<()> {
        match self.tickets.take(&ticket) {
            Waited::Open(outcome) => ended(outcome),
            Waited::Settled(result) => result,
        }
    }

    fn execute_program_with_params(
        &mut self,
        program: &Program,
        params: &ExecutionParams,
    ) -> Result<()> {
        ended(self.execute(program, params)?)
    }

    fn submit_intrinsic(&mut self, call: &IntrinsicCall) -> Result<Ticket> {
        self.execute_intrinsic(call)?;
        Ok(self.issue(None))
    }

    fn execute_intrinsic(&mut self, call: &IntrinsicCall) -> Result<()> {
        run_call(call, &mut self.memory)
    }

    fn allocate_buffer(&mut self, size: usize) -> Result<BufferHandle> {
        let raw = self.memory.buffers.allocate(size);
        raw.map(BufferHandle::from_raw)
            .ok_or(BackendError::OutOfMemory { requested: size })
    }

    fn allocate_unset(&mut self, size: usize) -> Result<BufferHandle> {
        let Some(block) = self.spare.take(size) else {
            return self.allocate_buffer(size);
        };
        let raw = self.memory.buffers.insert(block, size as u64, 0);
        raw.map(BufferHandle::from_raw)
            .ok_or(BackendError::OutOfMemory { requested: size })
    }

    fn free_buffer(&mut self, handle: BufferHandle) -> Result<()> {
        let freed = self.memory.buffers.remove(handle.raw());
        freed
            .map(|block| self.spare.keep(block))
            .ok_or(BackendError::InvalidBufferHandle(handle))
    }

    fn buffer_size(&self, handle: BufferHandle) -> Result<usize> {
        let size = if handle == BufferHandle::BOUNDARY {
            Some(crate::atlas::BOUNDARY_BYTES)
        } else if handle.as_class().is_some() {
            Some(crate::atlas::CLASS_BYTES)
        } else {
            let span = self.memory.buffers.find(handle.raw());
            span.map(|span| span.len as usize)
        };
        size.ok_or(BackendError::InvalidBufferHandle(handle))
    }

    fn copy_to_buffer_at(
        &mut self,
        handle: BufferHandle,
        offset: usize,
        data: &[u8],
    ) -> Result<()> {
        write(self.buffer_range(handle, offset, data.len())?, data);
        Ok(())
    }

    fn copy_from_buffer_at(
        &mut self,
        handle: BufferHandle,
        offset: usize,
        data: &mut [u8],
    ) -> Result<()> {
        read(self.buffer_range(handle, offset, data.len())?, data);
        Ok(())
    }

    fn copy_buffer(
        &mut self,
        src: BufferHandle,
        src_offset: usize,
        dst: BufferHandle,
        dst_offset: usize,
        len: usize,
    ) -> Result<()> {
        let from = self.buffer_range(src, src_offset, len)?;
        let to = self.buffer_range(dst, dst_offset, len)?;
        let distance = (from.ptr as usize).abs_diff(to.ptr as usize);
        if len > 0 && distance < len {
            return Err(BackendError::OverlappingCopy {
                handle: dst,
                src_offset,
                dst_offset,
                len,
            });
        }
        // SAFETY: both ranges are live and do not overlap; no program runs while the backend is borrowed.
        unsafe { std::ptr::copy_nonoverlapping(from.ptr, to.ptr, len) }
        Ok(())
    }

    fn host_pointer(&mut self, handle: BufferHandle) -> Result<Option<NonNull<u8>>> {
        self.memory
            .buffer(handle)
            .map(|span| NonNull::new(span.ptr))
    }

    fn allocate_pool(&mut self, size: usize) -> Result<PoolHandle> {
        let raw = self.memory.pools.allocate(size);
        raw.map(PoolHandle::from_raw)
            .ok_or(BackendError::OutOfMemory { requested: size })
    }

    fn free_pool(&mut self, handle: PoolHandle) -> Result<()> {
        let freed = self.memory.pools.remove(handle.raw());
        freed
            .map(drop)
            .ok_or(BackendError::InvalidPoolHandle(handle))
    }

    fn pool_size(&self, handle: PoolHandle) -> Result<usize> {
        let span = self.memory.pools.find(handle.raw());
        span.map(|span| span.len as usize)
            .ok_or(BackendError::InvalidPoolHandle(handle))
    }

    fn pools(&self) -> Vec<PoolHandle> {
        let pools = self.memory.pools.iter();
        pools.map(|(raw, _)| PoolHandle::from_raw(raw)).collect()
    }

    fn copy_to_pool(&mut self, handle: PoolHandle, offset: usize, data: &[u8]) -> Result<()> {
        write(self.pool_range(handle, offset, data.len())?, data);
        Ok(())
    }

    fn copy_from_pool(&mut self, handle: PoolHandle, offset: usize, data: &mut [u8]) -> Result<()> {
        read(self.pool_range(handle, offset, data.len())?, data);
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
