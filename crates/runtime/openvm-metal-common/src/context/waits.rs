//! Time limits of waits for the device.

use std::sync::Mutex;
use std::time::Duration;

use super::MetalContext;
use crate::lock;

/// The usual longest wait, and what is added to it for work that is known to take long.
pub(super) struct WaitLimit {
    usual: Mutex<Duration>,
    /// Limits that are in force; the longest counts.
    longer: Mutex<Vec<Duration>>,
}

impl WaitLimit {
    pub fn new(usual: Duration) -> Self {
        Self {
            usual: Mutex::new(usual),
            longer: Mutex::default(),
        }
    }

    /// Sets the usual one.
    pub fn set(&self, limit: Duration) {
        *lock(&self.usual) = limit;
    }

    /// The longest wait now.
    pub fn get(&self) -> Duration {
        let longer = lock(&self.longer).iter().max().copied();
        lock(&self.usual).saturating_add(longer.unwrap_or_default())
    }
}

/// Lets waits for the device take longer as long as it lives: made by [`MetalContext::wait_longer`].
#[must_use = "waits take longer only while it lives"]
#[derive(Debug)]
pub struct LongerWaits {
    context: MetalContext,
    by: Duration,
}

impl MetalContext {
    /// Lets waits take longer than [`MetalContext::wait_limit`] by so much, for work that may take that long; of several the
    /// longest counts.
    pub fn wait_longer(&self, by: Duration) -> LongerWaits {
        lock(&self.inner.wait_limit.longer).push(by);
        LongerWaits {
            context: self.clone(),
            by,
        }
    }
}

impl Drop for LongerWaits {
    fn drop(&mut self) {
        let mut longer = lock(&self.context.inner.wait_limit.longer);
        if let Some(at) = longer.iter().position(|&by| by == self.by) {
            longer.swap_remove(at);
        }
    }
}
