//! Buffers, pools and the boundary pool in host memory.

mod block;
mod slots;
mod word;

pub(super) use slots::Slots;
pub(super) use word::Word;

use crate::atlas;
use crate::backend::error::{BackendError, Result};
use crate::backend::handle::BufferHandle;
use block::Block;

/// Bytes that live pools made by programs may take together.
pub const PROGRAM_POOL_BYTES: u64 = 1 << 30;

/// Bytes in memory that a handle names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// First byte.
    pub ptr: *mut u8,
    /// Number of bytes.
    pub len: u64,
}

impl Span {
    /// No bytes, at a place that is aligned as all others are.
    pub const EMPTY: Self = Self {
        ptr: std::ptr::without_provenance_mut(64),
        len: 0,
    };
}

// SAFETY: a span is a place and a size; whoever accesses the bytes does so by relaxed atomics while
// programs run, or with the memory borrowed exclusively.
unsafe impl Send for Span {}
// SAFETY: as above.
unsafe impl Sync for Span {}

/// All memory of a backend.
#[derive(Default)]
pub(super) struct HostMemory {
    pub buffers: Slots,
    pub pools: Slots,
    boundary: Option<Block>,
}

impl HostMemory {
    /// The boundary pool, made and zeroed when it is first needed.
    pub fn boundary(&mut self) -> Result<Span> {
        if let Some(block) = &self.boundary {
            return Ok(block.span());
        }
        let block = Block::zeroed(atlas::BOUNDARY_BYTES).ok_or(BackendError::OutOfMemory {
            requested: atlas::BOUNDARY_BYTES,
        })?;
        let span = block.span();
        self.boundary = Some(block);
        Ok(span)
    }

    /// The bytes of a buffer, of the boundary pool or of one of its classes.
    pub fn buffer(&mut self, handle: BufferHandle) -> Result<Span> {
        let boundary = if handle == BufferHandle::BOUNDARY || handle.as_class().is_some() {
            self.boundary()?
        } else {
            Span::EMPTY
        };
        find_buffer(&self.buffers, boundary, handle.raw())
            .ok_or(BackendError::InvalidBufferHandle(handle))
    }
}

/// The bytes that a raw buffer handle names; `None` for none.
#[inline]
pub(super) fn find_buffer(buffers: &Slots, boundary: Span, raw: u64) -> Option<Span> {
    if let Some(span) = buffers.find(raw) {
        return Some(span);
    }
    if raw == 0 {
        return Some(boundary);
    }
    let class = usize::from(BufferHandle::from_raw(raw).as_class()?);
    let at = class * atlas::CLASS_BYTES;
    debug_assert!(at as u64 + atlas::CLASS_BYTES as u64 <= boundary.len);
    Some(Span {
        // SAFETY: the class lies within the boundary pool.
        ptr: unsafe { boundary.ptr.add(at) },
        len: atlas::CLASS_BYTES as u64,
    })
}
