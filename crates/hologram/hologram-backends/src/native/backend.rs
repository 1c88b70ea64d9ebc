//! Kernels where a program can be one, the interpreter for the rest, both on the same host memory.

use std::any::Any;
use std::path::PathBuf;
use std::ptr::NonNull;

use openvm_metal_common::Device;

use crate::backend::launch::ExecutionParams;
use crate::backend::Backend;
use crate::cpu::CpuBackend;
use crate::error::{BackendError, Fault, Result};
use crate::handle::{BufferHandle, PoolHandle, Ticket};
use crate::intrinsics::IntrinsicCall;
use crate::isa::Instruction;
use crate::metal::{Fallback, MetalBackend, MetalStats};
use crate::program::Program;

/// Runs programs as fused kernels on the processor. Memory, whole-buffer operations and the results of every program are
/// those of [`CpuBackend`], whose interpreter runs what no kernel can, and small programs whose kernel is not compiled yet
/// ([`Fallback::ADAPTIVE`]); [`NativeStats`] says how often.
///
/// Programs have run when `submit` returns. The compiler is looked for at the first program; without one, or without a folder to
/// keep kernels in, the interpreter runs all of them, which [`NativeStats::without_compiler`] counts.
pub struct NativeBackend {
    // Dropped first: it uses the host's memory.
    kernels: Option<Box<MetalBackend>>,
    host: CpuBackend,
    folder: Option<PathBuf>,
    /// Seconds of processor time for a kernel, if they are set.
    compile_limit: Option<u32>,
    /// Buffers or pools were made or freed since kernels were told where they are.
    moved: bool,
    interpreted: u64,
    without_compiler: u64,
}

/// Statistics of a [`NativeBackend`] since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NativeStats {
    /// Programs that the interpreter ran.
    pub interpreted: u64,
    /// Programs among these that are no kernels because there is no C++ compiler, or no folder that kernels can be written to and
    /// loaded from.
    pub without_compiler: u64,
    /// Programs that the interpreter validated and decoded.
    pub programs_prepared: u64,
    /// Programs that ran as kernels, and how these were compiled.
    pub kernels: MetalStats,
}

impl Default for NativeBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl NativeBackend {
    /// A backend without buffers. Compiled kernels are kept where [`MetalBackend::new`] keeps them.
    pub fn new() -> Self {
        Self::with_scratch(MetalBackend::default_folder())
    }

    /// The same; compiled kernels are kept in `folder` and used again by later processes, as by [`MetalBackend::with_scratch`].
    pub fn with_scratch(folder: impl Into<Option<PathBuf>>) -> Self {
        Self {
            kernels: None,
            host: CpuBackend::new(),
            folder: folder.into(),
            compile_limit: None,
            moved: true,
            interpreted: 0,
            without_compiler: 0,
        }
    }

    /// Sets the most seconds (at least 1) of processor time that compiling one kernel may take, `None` for 5: the interpreter runs
    /// what takes longer.
    pub fn set_compile_limit(&mut self, seconds: Option<u32>) {
        self.compile_limit = seconds;
        if let Some(kernels) = &mut self.kernels {
            kernels.set_compile_limit(Some(limit(seconds)));
        }
    }

    /// Statistics so far.
    pub fn stats(&self) -> NativeStats {
        NativeStats {
            interpreted: self.interpreted,
            without_compiler: self.without_compiler,
            programs_prepared: self.host.stats().programs_prepared,
            kernels: self
                .kernels
                .as_ref()
                .map_or_else(MetalStats::default, |kernels| kernels.stats()),
        }
    }

    /// Runs a program; gives its fault.
    fn execute(&mut self, program: &Program, params: &ExecutionParams) -> Result<Option<Fault>> {
        if !can_be_a_kernel(program) {
            return self.interpret(program, params);
        }
        match self.run_kernel(program, params) {
            Ok(true) => Ok(None),
            Ok(false) => self.interpret(program, params),
            Err(BackendError::Fault(fault)) => Ok(Some(fault)),
            Err(error) if Fallback::WhenUnsupported.takes(&error) => {
                use BackendError::{KernelFolder, NoCompiler};
                let cannot = matches!(error, NoCompiler(_) | KernelFolder(_));
                self.without_compiler += u64::from(cannot);
                self.interpret(program, params)
            }
            Err(error) => Err(error),
        }
    }

    fn interpret(&mut self, program: &Program, params: &ExecutionParams) -> Result<Option<Fault>> {
        self.interpreted += 1;
        // The program may make and free pools.
        self.moved = true;
        self.host.execute(program, params)
    }

    /// Compiles programs before they are launched, many with one call of the compiler; gives how many are new. Programs that are
    /// not valid, or that the interpreter will run, are left out.
    ///
    /// # Errors
    /// Those of the compiler; without one nothing is compiled.
    pub fn prepare(&mut self, programs: &[(&Program, &ExecutionParams)]) -> Result<usize> {
        let wanted: Vec<_> = programs
            .iter()
            .copied()
            .filter(|(program, _)| can_be_a_kernel(program))
            .collect();
        match self.kernels()?.prepare(&wanted) {
            Err(error) if Fallback::WhenUnsupported.takes(&error) => Ok(0),
            prepared => prepared,
        }
    }

    /// Backend that runs kernels, with the places of buffers and pools.
    fn kernels(&mut self) -> Result<&mut MetalBackend> {
        let kernels = match &mut self.kernels {
            Some(kernels) => kernels,
            none => {
                let mut made = MetalBackend::with_scratch(Device::Cpu, self.folder.clone())?;
                made.set_compile_limit(Some(limit(self.compile_limit)));
                none.insert(Box::new(made))
            }
        };
        if self.moved {
            // SAFETY: the blocks are live and where they are until buffers or pools are made or freed, which sets `moved`;
            // programs run between the calls of this backend only.
            unsafe { kernels.adopt(self.host.memory())? };
            self.moved = false;
        }
        Ok(kernels)
    }

    /// Runs a program as a kernel; false if compiling it is not worth it.
    ///
    /// # Errors
    /// Its fault, those of the compiler, a program or launch that is not valid.
    fn run_kernel(&mut self, program: &Program, params: &ExecutionParams) -> Result<bool> {
        let kernels = self.kernels()?;
        if kernels.is_for_the_interpreter(Fallback::ADAPTIVE, program, params) {
            return Ok(false);
        }
        kernels.execute_program_with_params(program, params)?;
        Ok(true)
    }
}

/// Most seconds that a kernel may take to compile.
fn limit(seconds: Option<u32>) -> u32 {
    seconds.unwrap_or(5).max(1)
}

/// True if a program has none of the instructions that only the interpreter has. Whole-buffer instructions are vector code there.
fn can_be_a_kernel(program: &Program) -> bool {
    let other = |i: &Instruction| {
        i.is_intrinsic()
            || matches!(
                i,
                Instruction::PoolAlloc { .. } | Instruction::PoolFree { .. }
            )
    };
    !program.instructions().iter().any(other)
}

impl Backend for NativeBackend {
    fn submit(&mut self, program: &Program, params: &ExecutionParams) -> Result<Ticket> {
        let outcome = self.execute(program, params)?;
        Ok(self.host.issue(outcome))
    }

    fn wait(&mut self, ticket: Ticket) -> Result<()> {
        self.host.wait(ticket)
    }

    fn execute_program_with_params(
        &mut self,
        program: &Program,
        params: &ExecutionParams,
    ) -> Result<()> {
        let fault = self.execute(program, params)?;
        fault.map_or(Ok(()), |fault| Err(fault.into()))
    }

    fn submit_intrinsic(&mut self, call: &IntrinsicCall) -> Result<Ticket> {
        self.host.submit_intrinsic(call)
    }

    fn execute_intrinsic(&mut self, call: &IntrinsicCall) -> Result<()> {
        self.host.execute_intrinsic(call)
    }

    fn allocate_buffer(&mut self, size: usize) -> Result<BufferHandle> {
        self.moved = true;
        self.host.allocate_buffer(size)
    }

    fn allocate_unset(&mut self, size: usize) -> Result<BufferHandle> {
        self.moved = true;
        self.host.allocate_unset(size)
    }

    fn free_buffer(&mut self, handle: BufferHandle) -> Result<()> {
        self.moved = true;
        self.host.free_buffer(handle)
    }

    fn buffer_size(&self, handle: BufferHandle) -> Result<usize> {
        self.host.buffer_size(handle)
    }

    fn copy_to_buffer_at(
        &mut self,
        handle: BufferHandle,
        offset: usize,
        data: &[u8],
    ) -> Result<()> {
        self.host.copy_to_buffer_at(handle, offset, data)
    }

    fn copy_from_buffer_at(
        &mut self,
        handle: BufferHandle,
        offset: usize,
        data: &mut [u8],
    ) -> Result<()> {
        self.host.copy_from_buffer_at(handle, offset, data)
    }

    fn copy_buffer(
        &mut self,
        src: BufferHandle,
        src_offset: usize,
        dst: BufferHandle,
        dst_offset: usize,
        len: usize,
    ) -> Result<()> {
        self.host.copy_buffer(src, src_offset, dst, dst_offset, len)
    }

    fn host_pointer(&mut self, handle: BufferHandle) -> Result<Option<NonNull<u8>>> {
        self.host.host_pointer(handle)
    }

    fn allocate_pool(&mut self, size: usize) -> Result<PoolHandle> {
        self.moved = true;
        self.host.allocate_pool(size)
    }

    fn free_pool(&mut self, handle: PoolHandle) -> Result<()> {
        self.moved = true;
        self.host.free_pool(handle)
    }

    fn pool_size(&self, handle: PoolHandle) -> Result<usize> {
        self.host.pool_size(handle)
    }

    fn pools(&self) -> Vec<PoolHandle> {
        self.host.pools()
    }

    fn copy_to_pool(&mut self, handle: PoolHandle, offset: usize, data: &[u8]) -> Result<()> {
        self.host.copy_to_pool(handle, offset, data)
    }

    fn copy_from_pool(&mut self, handle: PoolHandle, offset: usize, data: &mut [u8]) -> Result<()> {
        self.host.copy_from_pool(handle, offset, data)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }
}
