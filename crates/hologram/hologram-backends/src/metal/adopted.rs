//! Kernels on memory of the host that is not the context's.

use super::memory::{Memory, Range};
use super::MetalBackend;
use crate::cpu::{Block, HostMemory};
use crate::error::{BackendError, Result};

/// Origin from which the host's memory is addressed.
pub(super) struct Adopted {
    /// Address on the host of the store's place 0.
    base: usize,
    /// Scratch memory of launches.
    scratch: Option<Block>,
}

impl Adopted {
    /// A part of the host's memory as the store would have it; sums wrap.
    fn range(&self, block: &Block) -> Range {
        let span = block.span();
        Range {
            at: (span.ptr as usize).wrapping_sub(self.base),
            size: span.len as usize,
        }
    }

    /// Does the work of [`Memory::scratch`].
    pub fn scratch(&mut self, size: usize) -> Result<Range> {
        let known = self.scratch.take();
        let block = match known.filter(|block| block.span().len >= size as u64) {
            Some(block) => block,
            None => Block::zeroed(size).ok_or(BackendError::OutOfMemory { requested: size })?,
        };
        let range = self.range(&block);
        self.scratch = Some(block);
        Ok(range)
    }
}

impl MetalBackend {
    /// Lets programs run on these buffers, pools and boundary pool, under their handles, instead of the backend's own. For the
    /// processor only: kernels reach all of the host's memory from any of it.
    ///
    /// # Safety
    /// Programs may run only while the blocks live where they are and nobody else uses them.
    ///
    /// # Errors
    /// Out of memory for the boundary pool; a device with memory of its own.
    pub(crate) unsafe fn adopt(&mut self, host: &mut HostMemory) -> Result<()> {
        self.memory.adopt(&self.stream, host)
    }
}

impl Memory {
    fn adopt(
        &mut self,
        stream: &openvm_metal_common::CommandStream,
        host: &mut HostMemory,
    ) -> Result<()> {
        host.boundary()?;
        stream.wait().map_err(super::device_error)?;
        let base = self.store.host_base().ok_or_else(|| {
            BackendError::UnsupportedOperation("the device has memory of its own".into())
        })?;
        let adopted = self.adopted.get_or_insert(Adopted {
            base,
            scratch: None,
        });
        // Nothing is taken from the store any more, so it stays where it is.
        debug_assert_eq!(adopted.base, base);
        self.buffers = host.buffers.map(|_, block| Some(adopted.range(block)));
        self.pools = host.pools.map(|_, block| Some(adopted.range(block)));
        self.boundary = host.boundary.as_ref().map(|block| adopted.range(block).at);
        self.version += 1;
        Ok(())
    }
}
