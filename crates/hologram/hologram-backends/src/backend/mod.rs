//! Backends that run programs.

pub mod launch;
pub(crate) mod slots;
pub mod sorting;
pub(crate) mod tickets;
pub mod views;

use std::any::Any;
use std::ptr::NonNull;

use hologram_kernels::host::expression::Expression;

use crate::error::{BackendError, Result};
use crate::handle::{BufferHandle, PoolHandle, Ticket};
use crate::intrinsics::IntrinsicCall;
use crate::program::Program;
use launch::{ExecutionParams, LaunchConfig};
use sorting::{Rows, Sorted, Sorting};
use views::ExpressionViews;

/// Memory and execution of programs on one device; object-safe.
///
/// Buffers and pools are zeroed when made. Handle 0 is the boundary pool, and 96 handles at the top
/// are its classes ([`BufferHandle::class`]); neither can be freed. Copies are ordered with the
/// programs submitted before them. Nothing panics on bad input.
pub trait Backend: Send {
    /// Starts a program; errors found before it runs are returned here, its faults by [`Backend::wait`].
    ///
    /// # Errors
    /// A program that is not valid, a launch over the limits, a device that cannot run it.
    fn submit(&mut self, program: &Program, params: &ExecutionParams) -> Result<Ticket>;

    /// Waits for a submitted program. Dropping the ticket instead is allowed; nothing is kept for it then.
    ///
    /// # Errors
    /// The program's fault (of the smallest global lane), or a failure of the device;
    /// [`BackendError::InvalidTicket`] for another backend's ticket,
    /// [`BackendError::ResultForgotten`] if it failed and a thousand others after it.
    fn wait(&mut self, ticket: Ticket) -> Result<()>;

    /// Runs a program with initial registers and a step budget, and waits for it.
    ///
    /// # Errors
    /// Those of [`Backend::submit`] and [`Backend::wait`].
    fn execute_program_with_params(
        &mut self,
        program: &Program,
        params: &ExecutionParams,
    ) -> Result<()> {
        let ticket = self.submit(program, params)?;
        self.wait(ticket)
    }

    /// Runs a program and waits for it.
    ///
    /// # Errors
    /// Those of [`Backend::submit`] and [`Backend::wait`].
    fn execute_program(&mut self, program: &Program, launch: &LaunchConfig) -> Result<()> {
        self.execute_program_with_params(program, &ExecutionParams::from(*launch))
    }

    /// Starts one whole-buffer operation, as the program of that one instruction would, without the
    /// cost of a program; ordered with programs and copies.
    ///
    /// # Errors
    /// Those of [`IntrinsicCall::check`], and operations that this device cannot run; division by
    /// zero may be reported here or by [`Backend::wait`].
    fn submit_intrinsic(&mut self, call: &IntrinsicCall) -> Result<Ticket>;

    /// Runs one whole-buffer operation and waits for it.
    ///
    /// # Errors
    /// Those of [`Backend::submit_intrinsic`] and [`Backend::wait`].
    fn execute_intrinsic(&mut self, call: &IntrinsicCall) -> Result<()> {
        let ticket = self.submit_intrinsic(call)?;
        self.wait(ticket)
    }

    /// Starts an expression on devices with memory of their own; where [`Backend::host_pointer`] gives places, the host computes it
    /// there.
    ///
    /// # Errors
    /// A device, step, type or size for which there is no kernel, an unknown handle, the device's own.
    ///
    /// # Safety
    /// Views are as many as the expression has operands and outputs, with a stride for each dimension; they lie inside their
    /// buffers, aligned to their elements. What is written overlaps nothing but a view that is exactly the same.
    unsafe fn compute(
        &mut self,
        expression: &Expression,
        views: &ExpressionViews<'_>,
    ) -> Result<()> {
        let _ = (expression, views);
        let message = "expressions are computed on the host's memory here";
        Err(BackendError::UnsupportedOperation(message.into()))
    }

    /// Starts a stable sort of rows on devices with memory of their own; where [`Backend::host_pointer`] gives places, the host
    /// sorts there. The target may be the source where values are written, and overlaps nothing of it otherwise.
    ///
    /// # Errors
    /// Elements of less than 32 bits, rows of 2^31 elements and more; an unknown handle, rows past the end of a buffer, a target that
    /// overlaps the source; the device's own.
    fn sort(
        &mut self,
        sorting: &Sorting,
        sorted: Sorted,
        source: Rows,
        target: Rows,
    ) -> Result<()> {
        let _ = (sorting, sorted, source, target);
        let message = "sorts are the host's here";
        Err(BackendError::UnsupportedOperation(message.into()))
    }

    /// A new zeroed buffer of `size` bytes; 0 is allowed.
    ///
    /// # Errors
    /// Out of memory.
    fn allocate_buffer(&mut self, size: usize) -> Result<BufferHandle>;

    /// A new buffer of `size` bytes that are all written before they are read: until then they are any bytes that this
    /// process wrote before.
    ///
    /// # Errors
    /// Out of memory.
    fn allocate_unset(&mut self, size: usize) -> Result<BufferHandle> {
        self.allocate_buffer(size)
    }

    /// Frees a buffer.
    ///
    /// # Errors
    /// A handle that is unknown, freed before, or of the boundary pool.
    fn free_buffer(&mut self, handle: BufferHandle) -> Result<()>;

    /// Bytes of a buffer.
    ///
    /// # Errors
    /// An unknown handle.
    fn buffer_size(&self, handle: BufferHandle) -> Result<usize>;

    /// Writes `data` to a buffer from `offset` on.
    ///
    /// # Errors
    /// An unknown handle, a range past the end.
    fn copy_to_buffer_at(&mut self, handle: BufferHandle, offset: usize, data: &[u8])
        -> Result<()>;

    /// Reads `data.len()` bytes of a buffer from `offset` on.
    ///
    /// # Errors
    /// An unknown handle, a range past the end.
    fn copy_from_buffer_at(
        &mut self,
        handle: BufferHandle,
        offset: usize,
        data: &mut [u8],
    ) -> Result<()>;

    /// Writes `data` to the beginning of a buffer.
    ///
    /// # Errors
    /// Those of [`Backend::copy_to_buffer_at`].
    fn copy_to_buffer(&mut self, handle: BufferHandle, data: &[u8]) -> Result<()> {
        self.copy_to_buffer_at(handle, 0, data)
    }

    /// Reads the beginning of a buffer.
    ///
    /// # Errors
    /// Those of [`Backend::copy_from_buffer_at`].
    fn copy_from_buffer(&mut self, handle: BufferHandle, data: &mut [u8]) -> Result<()> {
        self.copy_from_buffer_at(handle, 0, data)
    }

    /// Copies `len` bytes between buffers.
    ///
    /// # Errors
    /// An unknown handle, a range past the end, ranges of one buffer that overlap.
    fn copy_buffer(
        &mut self,
        src: BufferHandle,
        src_offset: usize,
        dst: BufferHandle,
        dst_offset: usize,
        len: usize,
    ) -> Result<()>;

    /// Waits until everything that was submitted or started has ended.
    ///
    /// # Errors
    /// The device's own; faults of programs are given by [`Backend::wait`] alone.
    fn wait_idle(&mut self) -> Result<()> {
        Ok(())
    }

    /// Address of a buffer's bytes in the host's memory, after everything submitted; `None` on devices
    /// with memory of their own. Valid until the buffer is freed; for zero bytes it may be dangling.
    ///
    /// # Errors
    /// An unknown handle.
    fn host_pointer(&mut self, handle: BufferHandle) -> Result<Option<NonNull<u8>>> {
        self.buffer_size(handle).map(|_| None)
    }

    /// A new zeroed pool of `size` bytes; 0 is allowed.
    ///
    /// # Errors
    /// Out of memory.
    fn allocate_pool(&mut self, size: usize) -> Result<PoolHandle>;

    /// Frees a pool, made by the host or by a program.
    ///
    /// # Errors
    /// A handle that is unknown or freed before.
    fn free_pool(&mut self, handle: PoolHandle) -> Result<()>;

    /// Bytes of a pool.
    ///
    /// # Errors
    /// An unknown handle.
    fn pool_size(&self, handle: PoolHandle) -> Result<usize>;

    /// Live pools, made by the host or by programs.
    fn pools(&self) -> Vec<PoolHandle>;

    /// Writes `data` to a pool from `offset` on.
    ///
    /// # Errors
    /// An unknown handle, a range past the end.
    fn copy_to_pool(&mut self, handle: PoolHandle, offset: usize, data: &[u8]) -> Result<()>;

    /// Reads `data.len()` bytes of a pool from `offset` on.
    ///
    /// # Errors
    /// An unknown handle, a range past the end.
    fn copy_from_pool(&mut self, handle: PoolHandle, offset: usize, data: &mut [u8]) -> Result<()>;

    /// For downcasts to the concrete backend.
    fn as_any(&self) -> &dyn Any;

    /// For downcasts to the concrete backend.
    fn as_any_mut(&mut self) -> &mut dyn Any;
}
