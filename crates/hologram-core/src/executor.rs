//! One device: its memory, what runs on it, what it did.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use hologram_backends::metal::Fallback;
use hologram_backends::{
    atlas, Backend, BufferHandle, ExecutionParams, IntrinsicCall, Program, Ticket, Ty,
};

use crate::buffer::{Buffer, DynBuffer};
use crate::device::{self, BackendType};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::stats::Stats;

/// Submissions that may be unfinished before the host waits for them.
const MAX_PENDING: usize = 256;

/// A device with its memory; clones share it. All methods may be called from any thread: calls are
/// executed one after another.
///
/// On devices other than the CPU operations only start the work. What goes wrong there later is
/// returned by the next call that waits: reading a buffer, [`Executor::run`], [`Executor::synchronize`].
#[derive(Clone)]
pub struct Executor {
    shared: Arc<Shared>,
}

/// What an executor and its buffers share.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Memory of dropped buffers that could not be freed at once.
    orphans: Mutex<Vec<Memory>>,
    backend: BackendType,
    device: String,
}

/// What the lock guards.
pub(crate) struct State {
    pub backend: Box<dyn Backend>,
    pub stats: Stats,
    pending: Vec<Ticket>,
    /// Boundary classes that live buffers hold, one bit each.
    classes: u128,
    /// Whether submitted work is waited for at once.
    eager: bool,
    /// A buffer that is read to wait for the device, made when it is first needed.
    fence: Option<BufferHandle>,
}

/// Memory that a buffer owns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub handle: BufferHandle,
    pub bytes: usize,
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

    /// On Metal if there is an Apple GPU, else on CUDA if a driver answers, else on the CPU.
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
            shared: Arc::new(Shared {
                state: Mutex::new(State {
                    backend: made,
                    stats: Stats::default(),
                    pending: Vec::new(),
                    classes: 0,
                    eager: backend == BackendType::Cpu,
                    fence: None,
                }),
                orphans: Mutex::new(Vec::new()),
                backend,
                device,
            }),
        }
    }

    /// Which backend it is.
    pub fn backend_type(&self) -> BackendType {
        self.shared.backend
    }

    /// Name of the device.
    pub fn device(&self) -> &str {
        &self.shared.device
    }

    /// Sets what happens to programs and operations that a Metal or CUDA device cannot run:
    /// [`Fallback::Never`] unless set. The CPU's interpreter runs everything.
    pub fn set_fallback(&self, policy: Fallback) {
        device::set_fallback(self.shared.lock().backend.as_mut(), policy);
    }

    /// Sets the most seconds of processor time that compiling a kernel for a Metal or CUDA device may take, `None` for the usual
    /// limit: see [`MetalBackend::set_compile_limit`](hologram_backends::metal::MetalBackend::set_compile_limit).
    pub fn set_compile_limit(&self, seconds: Option<u32>) {
        device::set_compile_limit(self.shared.lock().backend.as_mut(), seconds);
    }

    /// Counters since it was made.
    pub fn stats(&self) -> Stats {
        self.shared.lock().stats
    }

    /// Counters of the backend itself, by name; times in microseconds.
    pub fn backend_stats(&self) -> Vec<(&'static str, u64)> {
        device::stats(self.shared.lock().backend.as_ref())
    }

    /// Counts an operation on this device's arrays that the caller computed on the host, for [`Stats::host_operations`].
    pub fn count_host_operation(&self) {
        self.shared.lock().stats.host_operations += 1;
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
        let mut state = self.shared.lock();
        state.stats.operations += 1;
        if state.eager {
            return Ok(state.backend.execute_intrinsic(call)?);
        }
        let ticket = state.backend.submit_intrinsic(call)?;
        state.submitted(ticket)
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

    /// As [`Executor::allocate_dyn`], for elements that are all written before they are read: what they are until then is not
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

    /// As [`Executor::allocate_boundary`], with a type known at run time.
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
        let mut state = self.shared.lock();
        if state.classes & (1 << class) != 0 {
            return Err(Error::InvalidClass {
                class,
                reason: "a live buffer holds it",
            });
        }
        state.classes |= 1 << class;
        drop(state);
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

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Executor")
            .field("backend", &self.shared.backend)
            .field("device", &self.shared.device)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// The backend and its books; a thread that panicked with the lock left them whole.
    pub fn lock(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.bury(&mut state);
        state
    }

    /// Frees memory, now or by whoever locks next.
    pub fn release(&self, memory: Memory) {
        self.orphans
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(memory);
        match self.state.try_lock() {
            Ok(mut state) => self.bury(&mut state),
            Err(TryLockError::Poisoned(state)) => self.bury(&mut state.into_inner()),
            Err(TryLockError::WouldBlock) => {}
        }
    }

    fn bury(&self, state: &mut State) {
        let orphans =
            std::mem::take(&mut *self.orphans.lock().unwrap_or_else(PoisonError::into_inner));
        for memory in orphans {
            match memory.handle.as_class() {
                Some(class) => state.classes &= !(1 << class),
                // The handle is ours and freed once, so it cannot fail but with the device itself,
                // which the next call reports.
                None => {
                    if state.backend.free_buffer(memory.handle).is_ok() {
                        state.stats.freed(memory.bytes);
                    }
                }
            }
        }
    }
}

impl State {
    fn submit_program(&mut self, program: &Program, params: &ExecutionParams) -> Result<()> {
        self.stats.programs += 1;
        if self.eager {
            return Ok(self.backend.execute_program_with_params(program, params)?);
        }
        let ticket = self.backend.submit(program, params)?;
        self.submitted(ticket)
    }

    fn submitted(&mut self, ticket: Ticket) -> Result<()> {
        self.pending.push(ticket);
        if self.pending.len() >= MAX_PENDING {
            return self.synchronize();
        }
        Ok(())
    }

    /// Waits until the device is idle: a read comes after all that was submitted, and a ticket's wait need
    /// not where nothing can have failed.
    fn drain(&mut self) -> Result<()> {
        if self.eager {
            return Ok(());
        }
        let fence = match self.fence {
            Some(fence) => fence,
            None => *self.fence.insert(self.backend.allocate_buffer(4)?),
        };
        Ok(self.backend.copy_from_buffer_at(fence, 0, &mut [0; 4])?)
    }

    /// Waits for the tickets of everything submitted; of several failures the first counts.
    pub fn synchronize(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            return Ok(());
        }
        self.stats.waits += 1;
        let mut result = Ok(());
        for ticket in std::mem::take(&mut self.pending) {
            result = result.and(self.backend.wait(ticket));
        }
        Ok(result?)
    }
}
