//! Allocation by a context: from the pool, else from the device, else after a wait.

use std::sync::atomic::Ordering;

use super::Inner;
use crate::driver::{DriverResult, Fault};
use crate::error::{MetalError, Result};
use crate::fault::InjectedFault;
use crate::lock;
use crate::memory::{is_small, rounded, segment_bytes, PoolBlock, Segment};
use crate::stage::current_stage;

/// No device comes near this many bytes; beyond, rounding could overflow.
const ABSURD: u64 = 1 << 60;
/// Attempts of a request whose memory another thread takes first.
const ATTEMPTS: usize = 64;

impl Inner {
    /// A block for `bytes` bytes. `host_written`: the host will write it before any device work,
    /// so on a unified device no work in flight may still use it.
    pub fn allocate(&self, bytes: u64, host_written: bool) -> Result<PoolBlock> {
        self.alive()?;
        if bytes > ABSURD {
            return Err(self.out_of_memory(bytes));
        }
        let size = rounded(bytes);
        if !lock(&self.pool).within_budget(size) {
            return Err(self.out_of_memory(bytes));
        }
        let limit = self.driver.info().profile.max_buffer;
        if size > limit {
            return Err(MetalError::BufferTooLarge {
                requested: bytes,
                limit,
            });
        }
        let exclusive = host_written && self.driver.info().profile.unified;
        let take = || {
            let finished_by = exclusive.then(|| self.driver.completed());
            lock(&self.pool).take(size, finished_by)
        };
        if host_written && !is_small(size) && self.trims.swap(false, Ordering::Relaxed) {
            let finished_by = exclusive.then(|| self.driver.completed());
            let block = lock(&self.pool).take_at_most(size, size / 8 * 9, finished_by);
            self.release_unused();
            if let Some(block) = block {
                return Ok(block);
            }
        }
        // Another thread may take what was fetched, so more than one attempt.
        for _ in 0..ATTEMPTS {
            if let Some(block) = take() {
                return Ok(block);
            }
            match self.grow(bytes, size) {
                // Blocks that work in flight may still use are free for the host after a wait.
                Err(MetalError::OutOfMemory { .. }) if exclusive => {
                    self.checked(self.driver.wait(self.wait_limit()))?;
                    return take().ok_or_else(|| self.out_of_memory(bytes));
                }
                other => other?,
            }
        }
        take().ok_or_else(|| self.out_of_memory(bytes))
    }

    /// Fetches a segment that holds `size` bytes, giving unused ones back if memory is short.
    fn grow(&self, bytes: u64, size: u64) -> Result<()> {
        let injected = self.take_injected(|fault| *fault == InjectedFault::AllocationFailed);
        if injected {
            return Err(self.out_of_memory(bytes));
        }
        let stats = lock(&self.pool).stats();
        let wanted = segment_bytes(size, stats.reserved)
            .min(self.driver.info().profile.max_buffer.max(size));
        let segment = match self.segment(wanted) {
            Err(Fault::OutOfMemory) => {
                self.release_unused();
                self.segment(size)
            }
            other => other,
        };
        match segment {
            Ok(segment) => {
                lock(&self.pool).add_segment(segment, is_small(size));
                Ok(())
            }
            Err(Fault::OutOfMemory) => Err(self.out_of_memory(bytes)),
            Err(other) => self.checked(Err(other)),
        }
    }

    /// Fetches `bytes` bytes from the device, if the budget has room for them beside what is reserved.
    fn segment(&self, bytes: u64) -> DriverResult<Segment> {
        if !lock(&self.pool).reserve(bytes) {
            return Err(Fault::OutOfMemory);
        }
        let segment = self.driver.allocate(bytes);
        if segment.is_err() {
            lock(&self.pool).unreserve(bytes);
        }
        segment
    }

    /// Gives segments without a live block back to the device.
    pub fn release_unused(&self) {
        let released: Vec<Segment> = lock(&self.pool).trim();
        released
            .into_iter()
            .for_each(|segment| self.driver.release(segment));
    }

    /// The error for a request that does not fit.
    pub fn out_of_memory(&self, requested: u64) -> MetalError {
        let stats = lock(&self.pool).stats();
        MetalError::OutOfMemory {
            requested,
            in_use: stats.live,
            budget: stats.budget,
            stage: current_stage(),
        }
    }
}
