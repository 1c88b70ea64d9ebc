//! Buffers, pools and the boundary pool in host memory.

mod block;
mod spare;
mod word;

pub(crate) use block::Block;
pub(super) use spare::SpareBlocks;
pub(super) use word::Word;

use crate::atlas;
use crate::backend::slots::Slots;
use crate::error::{BackendError, Result};
use crate::handle::BufferHandle;

/// Bytes that live pools made by programs may take together.
pub const PROGRAM_POOL_BYTES: u64 = 1 << 30;

/// Least bytes that a pool of a program counts.
const MIN_CHARGE: u64 = 64;

/// Bytes in memory that a handle names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
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

/// Blocks of host memory by handle.
pub(crate) type Blocks = Slots<Block>;

impl Blocks {
    /// A new zeroed block; `None` when there is no memory.
    pub fn allocate(&mut self, size: usize) -> Option<u64> {
        self.insert(Block::zeroed(size)?, size as u64, 0)
    }

    /// The same for a program, which may take no more than [`PROGRAM_POOL_BYTES`] in all.
    pub fn allocate_charged(&mut self, size: u64) -> Option<u64> {
        let charge = size.max(MIN_CHARGE);
        if self.charged().checked_add(charge)? > PROGRAM_POOL_BYTES {
            return None;
        }
        let block = Block::zeroed(usize::try_from(size).ok()?)?;
        self.insert(block, size, charge)
    }

    /// The bytes of a block; `None` when the handle names none.
    #[inline]
    pub fn find(&self, handle: u64) -> Option<Span> {
        self.get(handle).map(Block::span)
    }
}

/// Memory that programs work on: a backend's own memory, or a view of a device's under the device's handles.
#[derive(Default)]
pub(crate) struct HostMemory {
    pub buffers: Blocks,
    pub pools: Blocks,
    /// The boundary pool, if it was made.
    pub boundary: Option<Block>,
}

impl HostMemory {
    /// No memory at all, for programs that use none.
    pub fn without_boundary() -> Self {
        Self {
            boundary: Block::zeroed(0),
            ..Self::default()
        }
    }

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
pub(super) fn find_buffer(buffers: &Blocks, boundary: Span, raw: u64) -> Option<Span> {
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
