//! Memory of the pool, given back on drop.

use std::sync::Arc;

use crate::context::MetalContext;
use crate::error::Result;
use crate::lock;
use crate::memory::{rounded, PoolBlock, Span};

/// A pool block that returns to the pool when the last buffer on it is dropped.
pub(crate) struct Allocation {
    pub context: MetalContext,
    block: PoolBlock,
}

impl Allocation {
    /// Bytes of undefined contents. `host_written`: the host writes them before any device work.
    pub fn new(context: &MetalContext, bytes: u64, host_written: bool) -> Result<Arc<Self>> {
        let block = context.inner.allocate(bytes, host_written)?;
        Ok(Arc::new(Self {
            context: context.clone(),
            block,
        }))
    }

    /// Gives back what lies behind the first `bytes` bytes.
    pub fn shrink(&mut self, bytes: u64) {
        let epoch = self.context.inner.driver.epoch();
        lock(&self.context.inner.pool).shrink(&mut self.block, rounded(bytes), epoch);
    }

    /// The device bytes `offset..offset + bytes` of this allocation.
    pub fn span(&self, offset: u64, bytes: u64) -> Span {
        let span = self.block.span;
        debug_assert!(offset + bytes <= span.bytes);
        Span {
            segment: span.segment,
            offset: span.offset + offset,
            bytes,
        }
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        let epoch = self.context.inner.driver.epoch();
        lock(&self.context.inner.pool).give(self.block, epoch);
    }
}
