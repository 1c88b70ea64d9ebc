//! A word by which the host reaches kernels that are running.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::buffer::MetalBuffer;
use crate::context::MetalContext;
use crate::error::Result;
use crate::memory::{Segment, Span};

/// Bytes of the word.
const BYTES: u64 = 4;

/// A word that the host sets, from any thread, while kernels read it: bind it with
/// [`KernelCall::signal`](crate::KernelCall::signal) and [`KernelCall::stop`](crate::KernelCall::stop). It begins as 0.
///
/// It lies in memory that host and device both reach: the device's own where that is the host's, else pinned memory of
/// the host, where reading it takes a kernel a microsecond or two. Kernels that may still read it must have ended when it is
/// dropped.
///
/// When a kernel that runs sees what was set differs: on the processor with its next atomic load; on NVIDIA GPUs with its next
/// atomic load too, because it is read from the host's memory. Metal promises that kernels which begin later see it; one that runs
/// already may see it, late or not at all, and then ends with its slice.
pub struct Signal {
    context: MetalContext,
    place: Place,
}

enum Place {
    /// Memory of the pool, which the host reaches too.
    Shared(MetalBuffer<u32>),
    /// Pinned memory of the host.
    Pinned(Segment),
}

impl Signal {
    /// A word of 0.
    ///
    /// # Errors
    /// [`MetalError::OutOfMemory`](crate::MetalError::OutOfMemory), a lost device.
    pub fn new(context: &MetalContext) -> Result<Self> {
        let inner = &context.inner;
        inner.alive()?;
        let place = match inner.checked(inner.driver.pin(BYTES))? {
            Some(segment) => Place::Pinned(segment),
            None => Place::Shared(MetalBuffer::allocate(context, 1, true)?),
        };
        let signal = Self {
            context: context.clone(),
            place,
        };
        signal.set(0);
        Ok(signal)
    }

    /// Sets the word.
    pub fn set(&self, value: u32) {
        self.word().store(value, Ordering::Release);
    }

    /// Sets the word if it is 0, and says whether it was: of several the first counts.
    pub fn raise(&self, value: u32) -> bool {
        let raised = self
            .word()
            .compare_exchange(0, value, Ordering::AcqRel, Ordering::Acquire);
        raised.is_ok()
    }

    /// The word.
    pub fn get(&self) -> u32 {
        self.word().load(Ordering::Acquire)
    }

    pub(crate) fn span(&self) -> Span {
        match &self.place {
            Place::Shared(buffer) => buffer.span(),
            Place::Pinned(segment) => Span {
                segment: *segment,
                offset: 0,
                bytes: BYTES,
            },
        }
    }

    pub(crate) fn context(&self) -> &MetalContext {
        &self.context
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: four bytes at a multiple of 4 (memory of the pool and pinned memory begin at multiples of 256) that the
        // host can reach, live as long as `self`, and written by `set` and `raise` alone: kernels only read them.
        unsafe { AtomicU32::from_ptr(self.span().address() as *mut u32) }
    }
}

impl Drop for Signal {
    fn drop(&mut self) {
        // A device that is lost or stuck may still read it.
        if let (Place::Pinned(segment), Ok(())) = (&self.place, self.context.inner.alive()) {
            let segment = *segment;
            self.context.inner.driver.unpin(segment);
        }
    }
}

impl std::fmt::Debug for Signal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Signal").field(&self.get()).finish()
    }
}
