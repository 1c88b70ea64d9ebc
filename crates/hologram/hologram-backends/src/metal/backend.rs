//! The backend over devices of `openvm-metal-common`.

use std::any::Any;
use std::path::PathBuf;
use std::sync::Arc;

use hologram_kernels::device::LIBRARY;
use hologram_kernels::host::expression::Expression;
use openvm_metal_common::trusted_folder::cache_folder;
use openvm_metal_common::{
    CommandStream, Device, DeviceKind, DeviceProfile, MetalBuffer, MetalContext, Signal,
};

use super::device_error;
use super::effort::Effort;
use super::expressions::Expressions;
use super::fallback::Fallback;
use super::launch::FaultBuffer;
use super::memory::{Memory, TableShape};
use super::pending::Pending;
use super::pipeline::Pipelines;
use super::stats::MetalStats;
use super::unit::UnitCompiler;
use crate::backend::launch::ExecutionParams;
use crate::backend::sorting::{Rows, Sorted, Sorting};
use crate::backend::tickets::Tickets;
use crate::backend::views::ExpressionViews;
use crate::backend::Backend;
use crate::cpu::Interpreter;
use crate::error::{BackendError, Result};
use crate::handle::{BufferHandle, PoolHandle, Ticket};
use crate::intrinsics::IntrinsicCall;
use crate::program::Program;
use crate::translate::Options;

/// Runs programs as fused kernels on a Metal, CUDA or CPU device.
///
/// A program is compiled when it is first launched; programs of one shape (the same but for handles
/// and constants) share a kernel. Results and faults are those of the reference interpreter.
///
/// Programs of one lane that only compute scalars and run whole-buffer instructions need no kernel: these are
/// started one after another. What the device cannot run is an error unless [`Fallback`] allows the interpreter.
pub struct MetalBackend {
    pub(super) pipelines: Pipelines,
    pub(super) expressions: Expressions,
    pub(super) base: Options,
    pub(super) memory: Memory,
    pub(super) table: MetalBuffer<u8>,
    pub(super) table_shape: TableShape,
    table_version: u64,
    pub(super) tickets: Tickets<Pending>,
    pub(super) idle_faults: Vec<FaultBuffer>,
    /// Signals of programs that have ended, for reuse.
    pub(super) idle_signals: Vec<Arc<Signal>>,
    /// A zero: what programs that nothing ends look at in place of a signal.
    pub(super) never: MetalBuffer<u8>,
    pub(super) fallback: Fallback,
    /// Seconds of processor time for a kernel, if they are set.
    compile_limit: Option<u32>,
    pub(super) interpreter: Interpreter,
    pub(super) stats: MetalStats,
    pub(super) stream: CommandStream,
}

impl MetalBackend {
    /// True if this machine has an Apple GPU that kernels can run on. `hologram_core::device::find` says why not, and asks for
    /// NVIDIA's.
    pub fn is_available() -> bool {
        let devices = openvm_metal_common::devices();
        let metal = devices
            .into_iter()
            .find(|found| found.kind == DeviceKind::Metal);
        metal.is_some_and(|found| found.info.is_some())
    }

    /// Opens a device. Compiled kernels are kept in [`MetalBackend::default_folder`].
    ///
    /// # Errors
    /// [`BackendError::Device`] if the device is not there.
    pub fn new(device: Device) -> Result<Self> {
        Self::with_scratch(device, Self::default_folder())
    }

    /// Opens a device; compiled kernels are kept in `scratch` and used again by later processes. Code is loaded from a folder that only
    /// this user or root can change, see [`TrustedFolder`](openvm_metal_common::TrustedFolder); one that is not so counts as
    /// [`BackendError::KernelFolder`] when a program needs it. `None`: nothing is kept.
    ///
    /// # Errors
    /// [`BackendError::Device`] if the device is not there.
    pub fn with_scratch(device: Device, scratch: impl Into<Option<PathBuf>>) -> Result<Self> {
        let context = MetalContext::new(device, &[&LIBRARY]).map_err(device_error)?;
        Self::on(&context, scratch, Effort::Usual)
    }

    /// Default folder of compiled kernels: `HOLOGRAM_CACHE`, else `hologram` in the user's cache
    /// folder. Nothing is kept with `HOLOGRAM_CACHE=0`, or without a home folder.
    pub fn default_folder() -> Option<PathBuf> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let of_home = |home| PathBuf::from(home).join(".cache");
        let cache = set("XDG_CACHE_HOME").map(PathBuf::from);
        let in_home = cache.or_else(|| set("HOME").map(of_home));
        let in_home = in_home.map(|cache| cache.join("hologram"));
        cache_folder("HOLOGRAM_CACHE", set("HOLOGRAM_CACHE"), in_home).ok()
    }

    /// A backend with memory of its own on an open device. Whole-buffer operations need a context that was
    /// made with [`LIBRARY`](super::LIBRARY).
    ///
    /// # Errors
    /// Out of memory, a lost device.
    pub fn on(
        context: &MetalContext,
        scratch: impl Into<Option<PathBuf>>,
        effort: Effort,
    ) -> Result<Self> {
        let kind = context.info().kind;
        let stream = context.stream();
        let compiler = UnitCompiler::new(kind, scratch, effort);
        let mut pipelines = Pipelines::new(compiler.under(context.device_profile()));
        pipelines.set_limit(Fallback::Never.compile_limit());
        Ok(Self {
            pipelines,
            expressions: Expressions::default(),
            base: base_options(context.device_profile()),
            memory: Memory::new(&stream)?,
            table: MetalBuffer::uninit(context, 256).map_err(device_error)?,
            table_shape: TableShape::default(),
            table_version: 0,
            tickets: Tickets::default(),
            idle_faults: Vec::new(),
            idle_signals: Vec::new(),
            never: MetalBuffer::zeroed(&stream, 4).map_err(device_error)?,
            fallback: Fallback::Never,
            compile_limit: None,
            interpreter: Interpreter::default(),
            stats: MetalStats::default(),
            stream,
        })
    }

    /// The same with a policy for what the device cannot run; [`Fallback::Never`] unless given.
    pub fn with_fallback(mut self, policy: Fallback) -> Self {
        self.set_fallback(policy);
        self
    }

    /// Sets what happens to programs that the device cannot run, from the next submission on.
    pub fn set_fallback(&mut self, policy: Fallback) {
        self.fallback = policy;
        self.apply_limit();
    }

    /// Sets the most seconds (at least 1) of processor time that compiling one kernel may take; `None`, as it begins: 60, or 5
    /// where the policy lets the interpreter run what takes longer. Compilers that are part of a driver, Metal's and the
    /// second step of NVIDIA's, know no limit.
    pub fn set_compile_limit(&mut self, seconds: Option<u32>) {
        self.compile_limit = seconds;
        self.apply_limit();
    }

    fn apply_limit(&mut self) {
        let usual = self.fallback.compile_limit();
        self.pipelines
            .set_limit(self.compile_limit.unwrap_or(usual).max(1));
    }

    /// Policy for programs that the device cannot run.
    pub fn fallback(&self) -> Fallback {
        self.fallback
    }

    /// The open device.
    pub fn context(&self) -> &MetalContext {
        self.stream.context()
    }

    /// Statistics so far.
    pub fn stats(&self) -> MetalStats {
        self.stats
    }

    /// Bytes held by buffers and pools, and bytes of device memory that are reserved for them. What is freed is kept for later while it is
    /// less than what is in use and an eighth of the device's memory, or some 128 MiB without large buffers; the rest goes back to the device.
    pub fn memory_use(&self) -> (usize, usize) {
        let store = &self.memory.store;
        (store.in_use(), store.capacity(&self.stream))
    }

    /// Compiles programs before they are launched, many with one call of the compiler; gives how many are new.
    /// Programs that are not valid or cannot run here are left out; of those of one lane that would run with many if
    /// they were launched now, the kernels for that.
    ///
    /// # Errors
    /// [`BackendError::NoCompiler`] and [`BackendError::KernelFolder`] unless the policy lets the interpreter run them;
    /// [`BackendError::Compilation`]. Kernels that take too long are left out as well.
    pub fn prepare(&mut self, programs: &[(&Program, &ExecutionParams)]) -> Result<usize> {
        let launched = self.launched(programs);
        let shapes: Vec<_> = launched
            .iter()
            .map(|(program, shape)| (program, shape.clone()))
            .collect();
        let context = self.stream.context().clone();
        let stats = &mut self.stats;
        match self.pipelines.prepare(&context, &shapes, stats) {
            Err(error) if self.fallback.takes(&error) => Ok(0),
            prepared => prepared,
        }
    }

    /// The table on the device, as the handles are now.
    pub(super) fn refresh_table(&mut self) -> Result<()> {
        if self.table_version == self.memory.version() {
            return Ok(());
        }
        let (shape, mut bytes) = self.memory.table();
        if bytes.is_empty() {
            bytes.resize(16, 0);
        }
        self.table = MetalBuffer::from_host(&self.stream, &bytes).map_err(device_error)?;
        self.table_shape = shape;
        self.table_version = self.memory.version();
        Ok(())
    }
}

/// Options that follow from a device's limits.
fn base_options(profile: &DeviceProfile) -> Options {
    Options {
        apple: !profile.double_precision,
        ..Options::default()
    }
}

impl Drop for MetalBackend {
    /// Ends the programs that may be ended: what they use goes when they do not run any more.
    fn drop(&mut self) {
        let mut ended = false;
        for pending in self.tickets.open() {
            if let Pending::Running {
                watched: Some(watched),
                ..
            } = pending
            {
                watched.end();
                ended = true;
            }
        }
        if ended {
            // Nobody is there to be told of a failure.
            let _ = self.stream.wait();
        }
    }
}

impl Backend for MetalBackend {
    fn submit(&mut self, program: &Program, params: &ExecutionParams) -> Result<Ticket> {
        let pending = self.launch(program, params)?;
        Ok(self.issue(pending))
    }

    fn wait(&mut self, ticket: Ticket) -> Result<()> {
        self.redeem(&ticket)
    }

    fn submit_intrinsic(&mut self, call: &IntrinsicCall) -> Result<Ticket> {
        let pending = self.launch_call(call)?;
        Ok(self.issue(pending))
    }

    unsafe fn compute(
        &mut self,
        expression: &Expression,
        views: &ExpressionViews<'_>,
    ) -> Result<()> {
        // SAFETY: the caller's promises.
        unsafe { self.launch_expression(expression, views) }
    }

    fn sort(
        &mut self,
        sorting: &Sorting,
        sorted: Sorted,
        source: Rows,
        target: Rows,
    ) -> Result<()> {
        self.launch_sort(sorting, sorted, source, target)
    }

    fn wait_idle(&mut self) -> Result<()> {
        self.stream.wait().map_err(device_error)
    }

    fn allocate_buffer(&mut self, size: usize) -> Result<BufferHandle> {
        self.memory.allocate_buffer(&self.stream, size, true)
    }

    fn allocate_unset(&mut self, size: usize) -> Result<BufferHandle> {
        self.memory.allocate_buffer(&self.stream, size, false)
    }

    fn free_buffer(&mut self, handle: BufferHandle) -> Result<()> {
        self.memory.free_buffer(handle)
    }

    fn buffer_size(&self, handle: BufferHandle) -> Result<usize> {
        let size = self.memory.buffer_size(handle);
        size.ok_or(BackendError::InvalidBufferHandle(handle))
    }

    fn copy_to_buffer_at(
        &mut self,
        handle: BufferHandle,
        offset: usize,
        data: &[u8],
    ) -> Result<()> {
        let at = self
            .memory
            .buffer_range(&self.stream, handle, offset, data.len())?;
        self.memory.store.write(&self.stream, at, data)
    }

    fn copy_from_buffer_at(
        &mut self,
        handle: BufferHandle,
        offset: usize,
        data: &mut [u8],
    ) -> Result<()> {
        let at = self
            .memory
            .buffer_range(&self.stream, handle, offset, data.len())?;
        self.memory.store.read(&self.stream, at, data)
    }

    fn copy_buffer(
        &mut self,
        src: BufferHandle,
        src_offset: usize,
        dst: BufferHandle,
        dst_offset: usize,
        len: usize,
    ) -> Result<()> {
        let from = self
            .memory
            .buffer_range(&self.stream, src, src_offset, len)?;
        let to = self
            .memory
            .buffer_range(&self.stream, dst, dst_offset, len)?;
        if len == 0 {
            return Ok(());
        }
        if from < to + len && to < from + len {
            return Err(BackendError::OverlappingCopy {
                handle: dst,
                src_offset,
                dst_offset,
                len,
            });
        }
        self.memory.store.copy(&self.stream, from, to, len)
    }

    fn allocate_pool(&mut self, size: usize) -> Result<PoolHandle> {
        self.memory.allocate_pool(&self.stream, size)
    }

    fn free_pool(&mut self, handle: PoolHandle) -> Result<()> {
        self.memory.free_pool(handle)
    }

    fn pool_size(&self, handle: PoolHandle) -> Result<usize> {
        self.memory.pool(handle).map(|range| range.size)
    }

    fn pools(&self) -> Vec<PoolHandle> {
        let pools = self.memory.pools.iter();
        pools.map(|(raw, _)| PoolHandle::from_raw(raw)).collect()
    }

    fn copy_to_pool(&mut self, handle: PoolHandle, offset: usize, data: &[u8]) -> Result<()> {
        let at = self.memory.pool_range(handle, offset, data.len())?;
        self.memory.store.write(&self.stream, at, data)
    }

    fn copy_from_pool(&mut self, handle: PoolHandle, offset: usize, data: &mut [u8]) -> Result<()> {
        let at = self.memory.pool_range(handle, offset, data.len())?;
        self.memory.store.read(&self.stream, at, data)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
