//! One device: its memory, what runs on it, what it did.

use std::sync::atomic::Ordering;
use std::sync::Arc;

use hologram_backends::metal::Fallback;
use hologram_backends::{
    atlas, Backend, BufferHandle, ExecutionParams, IntrinsicCall, Program, Ty,
};

use crate::backend_type::BackendType;
use crate::buffer::{Buffer, DynBuffer};
use crate::device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::shared::{Memory, Shared};
use crate::stats::Stats;

/// A device with its memory; clones share it. All methods may be called from any thread: calls are
/// executed one after another.
///
/// On devices other than the CPU operations only start the work. What goes wrong there later is
/// returned by the next call that waits: reading a buffer, [`Executor::run`], [`Executor::synchronize`].
#[derive(Clone)]
pub struct Executor {
    shared: Arc<Shared>,
}

impl Executor {
    /// On the CPU.
    ///
    /// # Errors
    /// The backend cannot be made.
    pub fn new() -> Result<Self> {
        Self::new_with_backend(BackendType::Cpu)
    }

    /// On a backend of choice; never silently another.
    ///
    /// # Errors
    /// [`Error::BackendUnavailable`].
    pub fn new_with_backend(backend: BackendType) -> Result<Self> {
        let (made, device) = device::open(backend)?;
        Ok(Self::from_backend(made, backend, device))
    }

    /// Opens an executor on Metal if there is an Apple GPU, else on CUDA if a driver answers and a compiler makes code for it, else on the CPU:
    /// [`device::usable`] says why a GPU is passed over.
    ///
    /// # Errors
    /// A device that is there but cannot be used; the CPU's backend cannot be made.
    pub fn new_auto() -> Result<Self> {
        let ((made, device), backend) = device::open_auto()?;
        Ok(Self::from_backend(made, backend, device))
    }

    /// On a backend that the caller made; `device` is its name for people.
    pub fn from_backend(made: Box<dyn Backend>, backend: BackendType, device: String) -> Self {
        Self {
            shared: Arc::new(Shared::new(made, backend, device)),
        }
    }

    /// Kind of its backend.
    pub fn backend_type(&self) -> BackendType {
        self.shared.backend_type()
    }

    /// Name of the device.
    pub fn device(&self) -> &str {
        self.shared.device()
    }

    /// Sets what happens to programs and operations that a Metal or CUDA device cannot run:
    /// [`Fallback::Never`] unless set. On the CPU the interpreter runs what no kernel can, always: see
    /// [`NativeBackend`](hologram_backends::native::NativeBackend).
    pub fn set_fallback(&self, policy: Fallback) {
        device::set_fallback(self.shared.lock().backend.as_mut(), policy);
    }

    /// Sets the most seconds of processor time that compiling a kernel may take, `None` for the usual
    /// limit: see [`MetalBackend::set_compile_limit`](hologram_backends::metal::MetalBackend::set_compile_limit).
    pub fn set_compile_limit(&self, seconds: Option<u32>) {
        device::set_compile_limit(self.shared.lock().backend.as_mut(), seconds);
    }

    /// Counters since it was made.
    pub fn stats(&self) -> Stats {
        let host_operations = self.shared.host_operations.load(Ordering::Relaxed);
        Stats {
            host_operations,
            ..self.shared.lock().stats
        }
    }

    /// Counters of the backend itself, by name; times in microseconds.
    pub fn backend_stats(&self) -> Vec<(&'static str, u64)> {
        device::stats(self.shared.lock().backend.as_ref())
    }

    /// Counts an operation on this device's arrays that the caller computed on the host, for [`Stats::host_operations`]. It does
    /// not wait for a program that runs.
    pub fn count_host_operation(&self) {
        let counted = &self.shared.host_operations;
        counted.fetch_add(1, Ordering::Relaxed);
    }

    /// Waits for everything submitted.
    ///
    /// # Errors
    /// What went wrong since the last wait.
    pub fn synchronize(&self) -> Result<()> {
        let mut state = self.shared.lock();
        let result = state.synchronize();
        result.and(state.drain())
    }

    /// Uses the backend itself. `work` must not call this executor or methods of its buffers: they
    /// would wait for the lock that it holds. Buffers may be dropped in it.
    pub fn with_backend<R>(&self, work: impl FnOnce(&mut dyn Backend) -> R) -> R {
        work(self.shared.lock().backend.as_mut())
    }

    /// Runs a program and waits for it.
    ///
    /// # Errors
    /// The program is not valid, its fault, the device.
    pub fn run(&self, program: &Program, params: &ExecutionParams) -> Result<()> {
        let mut state = self.shared.lock();
        state.submit_program(program, params)?;
        state.synchronize()
    }

    /// Starts a program; its faults come with the next call that waits.
    ///
    /// # Errors
    /// The program is not valid; on the CPU, which runs it at once, also its fault.
    pub fn submit(&self, program: &Program, params: &ExecutionParams) -> Result<()> {
        self.shared.lock().submit_program(program, params)
    }

    /// Starts one whole-buffer operation.
    ///
    /// # Errors
    /// The call is not valid; on the CPU, which runs it at once, also its fault.
    pub fn call(&self, call: &IntrinsicCall) -> Result<()> {
        self.shared.lock().submit_call(call)
    }

    /// A zeroed buffer of `len` elements; 0 is allowed.
    ///
    /// # Errors
    /// Out of memory.
    pub fn allocate<T: Element>(&self, len: usize) -> Result<Buffer<T>> {
        Ok(Buffer::from_dyn_unchecked(self.allocate_dyn(T::TY, len)?))
    }

    /// A buffer with the elements of a slice.
    ///
    /// # Errors
    /// Out of memory.
    pub fn from_slice<T: Element>(&self, data: &[T]) -> Result<Buffer<T>> {
        let buffer = self.allocate(data.len())?;
        buffer.copy_from_slice(data)?;
        Ok(buffer)
    }

    /// A zeroed buffer whose type is known at run time.
    ///
    /// # Errors
    /// Out of memory.
    pub fn allocate_dyn(&self, ty: Ty, len: usize) -> Result<DynBuffer> {
        self.allocate_with(ty, len, |backend, bytes| backend.allocate_buffer(bytes))
    }

    /// Does the work of [`Executor::allocate_dyn`] for elements that are all written before they are read: their initial values are not
    /// defined, and memory that was freed before is used again as it is.
    ///
    /// # Errors
    /// Out of memory.
    pub fn allocate_unset(&self, ty: Ty, len: usize) -> Result<DynBuffer> {
        self.allocate_with(ty, len, |backend, bytes| backend.allocate_unset(bytes))
    }

    fn allocate_with(
        &self,
        ty: Ty,
        len: usize,
        allocate: impl FnOnce(&mut dyn Backend, usize) -> hologram_backends::Result<BufferHandle>,
    ) -> Result<DynBuffer> {
        let bytes = len
            .checked_mul(ty.size())
            .filter(|&bytes| bytes <= isize::MAX as usize)
            .ok_or(Error::TooLarge {
                what: "buffer",
                elements: len as u128,
            })?;
        let mut state = self.shared.lock();
        let handle = allocate(state.backend.as_mut(), bytes)?;
        state.stats.allocated(bytes);
        drop(state);
        let memory = Memory { handle, bytes };
        Ok(DynBuffer::new(self.shared.clone(), memory, ty, len))
    }

    /// `width` times `height` bytes of a class of the boundary pool, with what they hold. A class is
    /// given to one buffer at a time, and not freed but given back on drop.
    ///
    /// # Errors
    /// A class from 96 on or in use; over 48 by 256; bytes that are no multiple of the element.
    pub fn allocate_boundary<T: Element>(
        &self,
        class: u8,
        width: usize,
        height: usize,
    ) -> Result<Buffer<T>> {
        let buffer = self.allocate_boundary_dyn(T::TY, class, width, height)?;
        Ok(Buffer::from_dyn_unchecked(buffer))
    }

    /// Does the work of [`Executor::allocate_boundary`] with a type known at run time.
    ///
    /// # Errors
    /// Those of [`Executor::allocate_boundary`].
    pub fn allocate_boundary_dyn(
        &self,
        ty: Ty,
        class: u8,
        width: usize,
        height: usize,
    ) -> Result<DynBuffer> {
        let invalid = |argument, reason| Err(Error::InvalidArgument { argument, reason });
        if width > usize::from(atlas::PAGES) {
            return invalid("width", format!("{width}, at most {}", atlas::PAGES));
        }
        if height > atlas::PAGE_BYTES {
            return invalid("height", format!("{height}, at most {}", atlas::PAGE_BYTES));
        }
        let bytes = width * height;
        if !bytes.is_multiple_of(ty.size()) {
            return invalid("width", format!("{bytes} bytes are no multiple of {ty}"));
        }
        let handle = BufferHandle::class(class).ok_or(Error::InvalidClass {
            class,
            reason: "there are 96",
        })?;
        if !self.shared.lock().take_class(class) {
            return Err(Error::InvalidClass {
                class,
                reason: "a live buffer holds it",
            });
        }
        let memory = Memory { handle, bytes };
        Ok(DynBuffer::new(
            self.shared.clone(),
            memory,
            ty,
            bytes / ty.size(),
        ))
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl DynBuffer {
    /// True if it is in the memory of this executor (or its clones).
    pub fn belongs_to(&self, executor: &Executor) -> bool {
        Arc::ptr_eq(self.shared(), executor.shared())
    }
}

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor")
            .field("backend", &self.backend_type())
            .field("device", &self.device())
            .finish_non_exhaustive()
    }
}
