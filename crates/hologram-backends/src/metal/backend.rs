//! The backend over devices of `openvm-metal-common`.

use std::any::Any;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use hologram_kernels::device::{Launched, LIBRARY};
use openvm_metal_common::{CommandStream, Device, DeviceKind, MetalBuffer, MetalContext};

use super::device_error;
use super::intrinsic::{finish_intrinsic, launch_intrinsic};
use super::launch::{fault_buffer, read_fault, FaultBuffer, Launch};
use super::memory::{Memory, Range, TableShape};
use super::pipeline::{options, Pipeline, Pipelines};
use super::stats::MetalStats;
use super::unit::{Effort, UnitCompiler};
use crate::backend::error::{BackendError, Result};
use crate::backend::handle::{BufferHandle, PoolHandle, Ticket};
use crate::backend::launch::{ExecutionParams, DEFAULT_STEP_BUDGET};
use crate::backend::Backend;
use crate::intrinsics::IntrinsicCall;
use crate::program::Program;
use crate::translate::Options;

/// Most launches that nobody waited for.
const MAX_PENDING: usize = 1024;

/// Runs programs as fused kernels on a Metal, CUDA or CPU device.
///
/// A program is compiled when it is first launched; programs of one shape (the same but for handles
/// and constants) share a kernel. Results and faults are those of the reference interpreter.
pub struct MetalBackend {
    pub(super) pipelines: Pipelines,
    pub(super) base: Options,
    pub(super) memory: Memory,
    table: MetalBuffer<u8>,
    table_shape: TableShape,
    table_version: u64,
    pending: HashMap<u64, Pending>,
    oldest: std::collections::VecDeque<u64>,
    pub(super) idle_faults: Vec<FaultBuffer>,
    pub(super) stats: MetalStats,
    pub(super) stream: CommandStream,
}

pub(super) enum Pending {
    Running {
        pipeline: Arc<Pipeline>,
        faults: FaultBuffer,
        budget: u64,
    },
    /// A whole-buffer operation that may have divided by zero.
    Intrinsic {
        launched: Launched,
        call: IntrinsicCall,
    },
    Done(Result<()>),
}

fn next_ticket() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1 << 32);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl MetalBackend {
    /// Opens a device. Compiled kernels are kept in the folder `HOLOGRAM_CACHE`, else in `hologram` in the user's
    /// cache folder.
    ///
    /// # Errors
    /// [`BackendError::Device`] if the device is not there.
    pub fn new(device: Device) -> Result<Self> {
        Self::with_scratch(device, Self::default_folder())
    }

    /// Opens a device; compiled kernels are kept in `scratch` and used again by later processes.
    ///
    /// # Errors
    /// [`BackendError::Device`] if the device is not there.
    pub fn with_scratch(device: Device, scratch: PathBuf) -> Result<Self> {
        let context = MetalContext::new(device, &[&LIBRARY]).map_err(device_error)?;
        Self::on(&context, scratch, Effort::Usual)
    }

    /// Where compiled kernels are kept unless said otherwise: a folder that other users cannot write to, because native
    /// code is loaded from it.
    pub fn default_folder() -> PathBuf {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        if let Some(folder) = set("HOLOGRAM_CACHE") {
            return folder.into();
        }
        match (set("XDG_CACHE_HOME"), set("HOME")) {
            (Some(cache), _) => PathBuf::from(cache).join("hologram"),
            (None, Some(home)) => PathBuf::from(home).join(".cache").join("hologram"),
            (None, None) => std::env::temp_dir().join(format!("hologram-{}", std::process::id())),
        }
    }

    /// A backend with memory of its own on an open device. Whole-buffer operations need a context that was
    /// made with [`hologram_kernels::device::LIBRARY`].
    ///
    /// # Errors
    /// Out of memory, a lost device.
    pub fn on(context: &MetalContext, scratch: PathBuf, effort: Effort) -> Result<Self> {
        let kind = context.info().kind;
        let stream = context.stream();
        Ok(Self {
            pipelines: Pipelines::new(UnitCompiler::new(kind, scratch, effort)),
            base: base_options(kind),
            memory: Memory::new(&stream)?,
            table: MetalBuffer::uninit(context, 256).map_err(device_error)?,
            table_shape: TableShape::default(),
            table_version: 0,
            pending: HashMap::new(),
            oldest: std::collections::VecDeque::new(),
            idle_faults: Vec::new(),
            stats: MetalStats::default(),
            stream,
        })
    }

    /// The open device.
    pub fn context(&self) -> &MetalContext {
        self.stream.context()
    }

    /// What was done so far.
    pub fn stats(&self) -> MetalStats {
        self.stats
    }

    /// Bytes held by buffers and pools (rounded up to 256 each), and bytes of device memory that hold them.
    pub fn memory_use(&self) -> (usize, usize) {
        (self.memory.arena.in_use(), self.memory.arena.capacity())
    }

    /// Compiles programs before they are launched, many with one call of the compiler; gives how many are new.
    /// Programs that are not valid or cannot run here are left out; of those of one lane that would run with many if
    /// they were launched now, the kernels for that.
    ///
    /// # Errors
    /// [`BackendError::Compilation`].
    pub fn prepare(&mut self, programs: &[(&Program, &ExecutionParams)]) -> Result<usize> {
        let launched = self.launched(programs);
        let shapes: Vec<_> = launched
            .iter()
            .map(|(program, shape)| (program, shape.clone()))
            .collect();
        let context = self.stream.context().clone();
        self.pipelines.prepare(&context, &shapes, &mut self.stats)
    }

    /// The table on the device, as the handles are now.
    fn refresh_table(&mut self) -> Result<()> {
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

    fn finish(&mut self, pending: Pending) -> Result<()> {
        match pending {
            Pending::Done(result) => result,
            Pending::Intrinsic { launched, call } => {
                finish_intrinsic(launched, &call, &self.stream).inspect_err(|error| {
                    self.stats.faults += u64::from(matches!(error, BackendError::Fault(_)));
                })
            }
            Pending::Running {
                pipeline,
                mut faults,
                budget,
            } => {
                let fault = read_fault(&mut faults, &self.stream, &pipeline.program, budget)?;
                self.idle_faults.push(faults);
                match fault {
                    None => Ok(()),
                    Some(fault) => {
                        self.stats.faults += 1;
                        Err(fault.into())
                    }
                }
            }
        }
    }

    /// Keeps the number of fault buffers in bounds when nobody waits.
    fn settle_oldest(&mut self) {
        while self.oldest.len() > MAX_PENDING {
            let Some(ticket) = self.oldest.pop_front() else {
                return;
            };
            if let Some(pending) = self.pending.remove(&ticket) {
                let result = self.finish(pending);
                if result.is_err() {
                    self.pending.insert(ticket, Pending::Done(result));
                }
            }
        }
    }

    fn launch(&mut self, program: &Program, params: &ExecutionParams) -> Result<Pending> {
        match self.launch_rerolled(program, params)? {
            Some(pending) => Ok(pending),
            None => self.launch_as_is(program, params),
        }
    }

    fn launch_as_is(&mut self, program: &Program, params: &ExecutionParams) -> Result<Pending> {
        params.launch.check()?;
        let shape = options(&self.base, program, params);
        let context = self.stream.context().clone();
        let pipeline = self
            .pipelines
            .get(&context, program, &shape, &mut self.stats)?;
        self.encode(pipeline, params, None)
    }

    /// Encodes a launch of a pipeline; `scratch` is what stages of one program share.
    pub(super) fn encode(
        &mut self,
        pipeline: Arc<Pipeline>,
        params: &ExecutionParams,
        scratch: Option<Range>,
    ) -> Result<Pending> {
        let lanes = params.launch.check()?;
        if pipeline.plan.table {
            self.refresh_table()?;
        }
        let mut faults = match self.idle_faults.pop() {
            Some(buffer) => buffer,
            None => fault_buffer(&self.stream)?,
        };
        Launch {
            pipeline: &pipeline,
            params,
            lanes,
            table: &self.table,
            shape: self.table_shape,
            scratch,
            faults: &mut faults,
        }
        .encode(&self.stream, &mut self.memory)?;
        self.stats.launches += 1;
        Ok(Pending::Running {
            pipeline,
            faults,
            budget: params.step_budget.unwrap_or(DEFAULT_STEP_BUDGET),
        })
    }
}

/// What a kind of device cannot do.
pub(crate) fn base_options(kind: DeviceKind) -> Options {
    Options {
        apple: kind == DeviceKind::Metal,
        no_f64_pow: kind != DeviceKind::Cpu,
        ..Options::default()
    }
}

impl Backend for MetalBackend {
    fn submit(&mut self, program: &Program, params: &ExecutionParams) -> Result<Ticket> {
        let pending = self.launch(program, params)?;
        let ticket = next_ticket();
        self.pending.insert(ticket, pending);
        self.oldest.push_back(ticket);
        self.settle_oldest();
        Ok(Ticket::from_raw(ticket))
    }

    fn wait(&mut self, ticket: Ticket) -> Result<()> {
        let raw = ticket.raw();
        match self.pending.remove(&raw) {
            Some(pending) => {
                self.oldest.retain(|&t| t != raw);
                self.finish(pending)
            }
            None => Err(BackendError::InvalidTicket(raw)),
        }
    }

    fn submit_intrinsic(&mut self, call: &IntrinsicCall) -> Result<Ticket> {
        let launched = launch_intrinsic(call, &self.stream, &mut self.memory)?;
        let ticket = next_ticket();
        let pending = if launched.is_certain() {
            Pending::Done(Ok(()))
        } else {
            Pending::Intrinsic {
                launched,
                call: *call,
            }
        };
        self.pending.insert(ticket, pending);
        self.oldest.push_back(ticket);
        self.settle_oldest();
        self.stats.intrinsics += 1;
        Ok(Ticket::from_raw(ticket))
    }

    fn allocate_buffer(&mut self, size: usize) -> Result<BufferHandle> {
        self.memory.allocate_buffer(&self.stream, size)
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
        self.memory.arena.write(&self.stream, at, data)
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
        self.memory.arena.read(&self.stream, at, data)
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
        self.memory.arena.copy(&self.stream, from, to, len)
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

    fn copy_to_pool(&mut self, handle: PoolHandle, offset: usize, data: &[u8]) -> Result<()> {
        let at = self.memory.pool_range(handle, offset, data.len())?;
        self.memory.arena.write(&self.stream, at, data)
    }

    fn copy_from_pool(&mut self, handle: PoolHandle, offset: usize, data: &mut [u8]) -> Result<()> {
        let at = self.memory.pool_range(handle, offset, data.len())?;
        self.memory.arena.read(&self.stream, at, data)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
