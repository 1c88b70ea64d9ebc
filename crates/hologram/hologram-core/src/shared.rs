//! State that an executor and its buffers share: the backend behind a lock, and what it owes.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use hologram_backends::{Backend, BufferHandle, ExecutionParams, IntrinsicCall, Program, Ticket};

use crate::backend_type::BackendType;
use crate::error::Result;
use crate::stats::Stats;

/// Submissions that may be unfinished before the host waits for them.
const MAX_PENDING: usize = 256;

/// State that an executor and its buffers share.
pub(crate) struct Shared {
    state: Mutex<State>,
    /// Memory of dropped buffers that could not be freed at once.
    orphans: Mutex<Vec<Memory>>,
    /// [`Stats::host_operations`]: counted without the lock, which a program holds while it runs.
    pub host_operations: AtomicU64,
    backend: BackendType,
    device: String,
}

/// State that the lock guards.
pub(crate) struct State {
    pub backend: Box<dyn Backend>,
    pub stats: Stats,
    pending: Vec<Ticket>,
    /// Boundary classes that live buffers hold, one bit each.
    classes: u128,
    /// True if submitted work is waited for at once.
    eager: bool,
}

/// Memory that a buffer owns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory {
    pub handle: BufferHandle,
    pub bytes: usize,
}

impl Shared {
    pub fn new(backend: Box<dyn Backend>, kind: BackendType, device: String) -> Self {
        Self {
            state: Mutex::new(State {
                backend,
                stats: Stats::default(),
                pending: Vec::new(),
                classes: 0,
                eager: kind.is_host(),
            }),
            orphans: Mutex::new(Vec::new()),
            host_operations: AtomicU64::new(0),
            backend: kind,
            device,
        }
    }

    pub fn backend_type(&self) -> BackendType {
        self.backend
    }

    /// Name of the device for people.
    pub fn device(&self) -> &str {
        &self.device
    }

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
    /// Starts a program; on the CPU it has then ended.
    pub fn submit_program(&mut self, program: &Program, params: &ExecutionParams) -> Result<()> {
        self.stats.programs += 1;
        if self.eager {
            return Ok(self.backend.execute_program_with_params(program, params)?);
        }
        let ticket = self.backend.submit(program, params)?;
        self.submitted(ticket)
    }

    /// Starts one whole-buffer operation; on the CPU it has then ended.
    pub fn submit_call(&mut self, call: &IntrinsicCall) -> Result<()> {
        self.stats.operations += 1;
        if self.eager {
            return Ok(self.backend.execute_intrinsic(call)?);
        }
        let ticket = self.backend.submit_intrinsic(call)?;
        self.submitted(ticket)
    }

    /// Takes a boundary class for a buffer; false if a live one holds it.
    pub fn take_class(&mut self, class: u8) -> bool {
        let free = self.classes & (1 << class) == 0;
        self.classes |= 1 << class;
        free
    }

    fn submitted(&mut self, ticket: Ticket) -> Result<()> {
        self.pending.push(ticket);
        if self.pending.len() >= MAX_PENDING {
            return self.synchronize();
        }
        Ok(())
    }

    /// Waits until the device is idle: a ticket's wait need not where nothing can have failed.
    pub fn drain(&mut self) -> Result<()> {
        if self.eager {
            return Ok(());
        }
        Ok(self.backend.wait_idle()?)
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
