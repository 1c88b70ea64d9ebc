//! Faults that tests inject.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use super::Inner;
use crate::driver::{self, DriverResult, Fault};
use crate::error::Result;
use crate::fault::InjectedFault;
use crate::kernel::KernelSpec;
use crate::lock;

/// Faults that are still to happen.
#[derive(Default)]
pub(super) struct InjectedFaults {
    any: AtomicBool,
    faults: Mutex<Vec<InjectedFault>>,
}

impl Inner {
    /// Makes a later operation fail.
    pub fn inject(&self, fault: InjectedFault) {
        lock(&self.injected.faults).push(fault);
        self.injected.any.store(true, Ordering::Release);
    }

    /// True, once, if an injected fault is due.
    pub fn take_injected(&self, due: impl Fn(&mut InjectedFault) -> bool) -> bool {
        if !self.injected.any.load(Ordering::Acquire) {
            return false;
        }
        let mut pending = lock(&self.injected.faults);
        let found = pending.iter_mut().position(due);
        if let Some(index) = found {
            pending.swap_remove(index);
        }
        found.is_some()
    }

    /// Fails as a kernel does that was refused, if that was injected.
    pub fn injected_refusal(&self, kernel: &KernelSpec) -> Result<()> {
        if !self.injected.any.load(Ordering::Acquire) {
            return Ok(());
        }
        let names = [kernel.name, kernel.unit];
        let refused = |fault: &InjectedFault| match fault {
            InjectedFault::Refused(name) => names.contains(name),
            _ => false,
        };
        match lock(&self.injected.faults).iter().any(refused) {
            true => {
                let device = self.driver.info().kind;
                Err(driver::kernels::missing(device, kernel, "injected"))
            }
            false => Ok(()),
        }
    }

    /// Fails as a device does that is lost in the middle of a proof, or a kernel that was refused, if that was
    /// injected.
    pub fn injected_dispatch_fault(&self, kernel: &KernelSpec) -> Result<()> {
        self.injected_refusal(kernel)?;
        let due = self.take_injected(|fault| match fault {
            InjectedFault::DeviceLost { dispatches: 0 } => true,
            InjectedFault::DeviceLost { dispatches } => {
                *dispatches -= 1;
                false
            }
            _ => false,
        });
        self.checked(if due {
            Err(Fault::Lost("injected".into()))
        } else {
            Ok(())
        })
    }

    /// Waits, unless a fault of the wait was injected.
    pub fn injected_wait_fault(
        &self,
        limit: Duration,
        wait: impl FnOnce() -> DriverResult,
    ) -> DriverResult {
        if self.take_injected(|fault| *fault == InjectedFault::SubmissionFailed) {
            return Err(Fault::Failed("injected".into()));
        }
        if self.take_injected(|fault| *fault == InjectedFault::EndlessWait) {
            // As for a submission whose completion is never signalled.
            let (signal, never) = (Condvar::new(), Mutex::new(()));
            let (guard, _) = signal
                .wait_timeout_while(lock(&never), limit, |()| true)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            drop(guard);
            return Err(Fault::Timeout(limit));
        }
        wait()
    }
}
