//! The counted handle through which everything reaches the device.

mod constants;
mod operations;
mod stages;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use self::constants::Constants;
pub(crate) use self::operations::Call;
use self::stages::Ledger;
pub use self::stages::StageGuard;
use crate::context::MetalContext;
use crate::counters::StreamCounters;
use crate::device_kind::DeviceKind;
use crate::error::Result;
use crate::lock;

/// A handle onto the serial queue of a context, with counters of its own.
///
/// Work encoded through any handle of a context happens in the order of the calls. Clones share
/// their counters. Stages nest per handle; use one handle per thread to keep them apart.
#[derive(Clone)]
pub struct CommandStream {
    context: MetalContext,
    ledger: Arc<Mutex<Ledger>>,
    constants: Arc<Constants>,
}

impl MetalContext {
    /// A new counted handle onto the queue.
    pub fn stream(&self) -> CommandStream {
        CommandStream {
            context: self.clone(),
            ledger: Arc::new(Mutex::new(Ledger::new(self.clone()))),
            constants: Arc::default(),
        }
    }
}

impl CommandStream {
    /// The context behind the handle.
    pub fn context(&self) -> &MetalContext {
        &self.context
    }

    /// Fails with the error that ended the context, if one did: for host work that follows no request to the
    /// device.
    pub fn alive(&self) -> Result<()> {
        self.context.inner.alive()
    }

    /// Hands what is encoded to the device, without waiting.
    pub fn submit(&self) -> Result<()> {
        let inner = &self.context.inner;
        inner.alive()?;
        inner.hand_over()?;
        let submitted = inner.pending.swap(false, Ordering::AcqRel);
        lock(&self.ledger).current().submissions += submitted as u64;
        Ok(())
    }

    /// Submits and waits for everything, at most for [`MetalContext::wait_limit`].
    ///
    /// # Errors
    /// [`WaitTimeout`](crate::MetalError::WaitTimeout),
    /// [`SubmissionFailed`](crate::MetalError::SubmissionFailed) or [`DeviceLost`](crate::MetalError::DeviceLost);
    /// each ends the context.
    pub fn wait(&self) -> Result<()> {
        let inner = &self.context.inner;
        let limit = inner.wait_limit();
        self.waiting(0, || {
            inner.injected_wait_fault(limit, || inner.driver.wait(limit))
        })
    }

    /// Device time of what the closure encodes: events on CUDA, GPU time stamps on Metal, wall clock
    /// on the CPU. Waits for it.
    pub fn time(&self, work: impl FnOnce() -> Result<()>) -> Result<Duration> {
        let inner = &self.context.inner;
        let limit = inner.wait_limit();
        inner.alive()?;
        let start = inner.checked(inner.driver.mark(limit))?;
        work()?;
        let end = inner.checked(inner.driver.mark(limit))?;
        let mut time = Duration::ZERO;
        self.waiting(0, || {
            time = inner.driver.between(start, end, limit)?;
            Ok(())
        })?;
        Ok(time)
    }

    /// Counts work that the host does although the device could, because it is small: every size gate
    /// calls this.
    pub fn count_host_work(&self, what: &'static str, elements: usize) {
        let mut ledger = lock(&self.ledger);
        let work = ledger.current().host_work.entry(what).or_default();
        work.count(elements as u64);
    }

    /// Counts work that the host does because the device could not. A prover that works has none.
    pub fn count_host_fallback(&self, what: &'static str, elements: usize) {
        let mut ledger = lock(&self.ledger);
        let work = ledger.current().host_fallbacks.entry(what).or_default();
        work.count(elements as u64);
    }

    /// The counters so far.
    pub fn counters(&self) -> StreamCounters {
        let inner = &self.context.inner;
        let mut stages = lock(&self.ledger).counted();
        if inner.profile.enabled() && self.context.info().kind != DeviceKind::Cpu {
            for stage in &mut stages {
                stage.device_ns = inner.profile.stage_ns(&stage.stage);
            }
        }
        StreamCounters {
            device: self.context.info().kind,
            stages,
        }
    }

    /// Forgets the counts; open stages stay open.
    pub fn reset_counters(&self) {
        lock(&self.ledger).reset();
    }
}
