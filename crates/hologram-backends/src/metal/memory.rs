//! Buffers, pools and the boundary pool of a [`MetalBackend`](super::MetalBackend).

use std::collections::BTreeMap;

use openvm_metal_common::CommandStream;

use super::arena::Arena;
use crate::atlas::{BOUNDARY_BYTES, CLASS_BYTES};
use crate::backend::error::{BackendError, Result};
use crate::backend::handle::{BufferHandle, PoolHandle};

/// Bytes of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// First byte.
    pub at: usize,
    /// Number of bytes.
    pub size: usize,
}

/// Handles and where their bytes are; handles count from 1 and are not used again.
pub struct Memory {
    /// Device memory.
    pub arena: Arena,
    buffers: BTreeMap<u64, Range>,
    pools: BTreeMap<u64, Range>,
    next_buffer: u64,
    next_pool: u64,
    boundary: Option<usize>,
    scratch: Option<Range>,
    /// Changes whenever a handle's bytes do.
    version: u64,
}

/// What kernels need to look handles up: first handle and one entry for each following one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableShape {
    /// First buffer handle.
    pub first_buffer: u64,
    /// Entries of buffers.
    pub buffers: u64,
    /// First pool handle.
    pub first_pool: u64,
    /// Entries of pools, behind those of buffers.
    pub pools: u64,
}

impl Memory {
    /// No buffers.
    pub fn new(stream: &CommandStream) -> Result<Self> {
        Ok(Self {
            arena: Arena::new(stream)?,
            buffers: BTreeMap::new(),
            pools: BTreeMap::new(),
            next_buffer: 1,
            next_pool: 1,
            boundary: None,
            scratch: None,
            version: 1,
        })
    }

    /// Changes whenever a handle's bytes do.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// A new zeroed buffer.
    pub fn allocate_buffer(&mut self, stream: &CommandStream, size: usize) -> Result<BufferHandle> {
        let at = self.arena.allocate(stream, size)?;
        let handle = self.next_buffer;
        self.next_buffer += 1;
        self.version += 1;
        self.buffers.insert(handle, Range { at, size });
        Ok(BufferHandle::from_raw(handle))
    }

    /// Frees a buffer.
    pub fn free_buffer(&mut self, handle: BufferHandle) -> Result<()> {
        let range = self
            .buffers
            .remove(&handle.raw())
            .ok_or(BackendError::InvalidBufferHandle(handle))?;
        self.version += 1;
        self.arena.release(range.at, range.size);
        Ok(())
    }

    /// A new zeroed pool.
    pub fn allocate_pool(&mut self, stream: &CommandStream, size: usize) -> Result<PoolHandle> {
        let at = self.arena.allocate(stream, size)?;
        let handle = self.next_pool;
        self.next_pool += 1;
        self.version += 1;
        self.pools.insert(handle, Range { at, size });
        Ok(PoolHandle::from_raw(handle))
    }

    /// Frees a pool.
    pub fn free_pool(&mut self, handle: PoolHandle) -> Result<()> {
        let range = self
            .pools
            .remove(&handle.raw())
            .ok_or(BackendError::InvalidPoolHandle(handle))?;
        self.version += 1;
        self.arena.release(range.at, range.size);
        Ok(())
    }

    /// Bytes of a buffer; the boundary pool has its size whether it was made or not.
    pub fn buffer_size(&self, handle: BufferHandle) -> Option<usize> {
        match (handle, handle.as_class()) {
            (BufferHandle::BOUNDARY, _) => Some(BOUNDARY_BYTES),
            (_, Some(_)) => Some(CLASS_BYTES),
            _ => self.buffers.get(&handle.raw()).map(|range| range.size),
        }
    }

    /// Bytes of a pool.
    pub fn pool(&self, handle: PoolHandle) -> Result<Range> {
        let found = self.pools.get(&handle.raw()).copied();
        found.ok_or(BackendError::InvalidPoolHandle(handle))
    }

    /// Where a buffer is; makes the boundary pool if it is asked for.
    ///
    /// # Errors
    /// Out of memory.
    pub fn find(&mut self, stream: &CommandStream, handle: BufferHandle) -> Result<Option<Range>> {
        if handle == BufferHandle::BOUNDARY {
            let at = self.boundary(stream)?;
            return Ok(Some(Range {
                at,
                size: BOUNDARY_BYTES,
            }));
        }
        if let Some(class) = handle.as_class() {
            let at = self.boundary(stream)? + usize::from(class) * CLASS_BYTES;
            return Ok(Some(Range {
                at,
                size: CLASS_BYTES,
            }));
        }
        Ok(self.buffers.get(&handle.raw()).copied())
    }

    /// A range of a buffer that lies inside it.
    pub fn buffer_range(
        &mut self,
        stream: &CommandStream,
        handle: BufferHandle,
        offset: usize,
        size: usize,
    ) -> Result<usize> {
        let range = self
            .find(stream, handle)?
            .ok_or(BackendError::InvalidBufferHandle(handle))?;
        match offset.checked_add(size) {
            Some(end) if end <= range.size => Ok(range.at + offset),
            _ => Err(BackendError::BufferOutOfBounds {
                handle,
                offset,
                size,
                buffer_size: range.size,
            }),
        }
    }

    /// A range of a pool that lies inside it.
    pub fn pool_range(&self, handle: PoolHandle, offset: usize, size: usize) -> Result<usize> {
        let range = self.pool(handle)?;
        match offset.checked_add(size) {
            Some(end) if end <= range.size => Ok(range.at + offset),
            _ => Err(BackendError::PoolOutOfBounds {
                handle,
                offset,
                size,
                pool_size: range.size,
            }),
        }
    }

    /// Offset of the boundary pool, made now if it was not.
    pub fn boundary(&mut self, stream: &CommandStream) -> Result<usize> {
        if let Some(at) = self.boundary {
            return Ok(at);
        }
        let at = self.arena.allocate(stream, BOUNDARY_BYTES)?;
        self.boundary = Some(at);
        Ok(at)
    }

    /// At least `size` bytes that launches use for themselves; nothing, for none.
    ///
    /// # Errors
    /// Out of memory.
    pub fn scratch(&mut self, stream: &CommandStream, size: usize) -> Result<Option<Range>> {
        if size == 0 {
            return Ok(None);
        }
        if self.scratch.is_none_or(|range| range.size < size) {
            if let Some(old) = self.scratch.take() {
                self.arena.release(old.at, old.size);
            }
            let at = self.arena.allocate(stream, size)?;
            self.scratch = Some(Range { at, size });
        }
        Ok(self.scratch)
    }

    /// The table of all handles, two words each: offset (`u64::MAX` if freed) and size.
    pub fn table(&self) -> (TableShape, Vec<u8>) {
        let mut out = Vec::new();
        let mut entries = |ranges: &BTreeMap<u64, Range>| {
            let first = ranges.keys().next().copied().unwrap_or(1);
            let last = ranges.keys().next_back().copied().unwrap_or(0);
            for handle in first..=last {
                let (at, size) = match ranges.get(&handle) {
                    Some(range) => (range.at as u64, range.size as u64),
                    None => (u64::MAX, 0),
                };
                out.extend_from_slice(&at.to_le_bytes());
                out.extend_from_slice(&size.to_le_bytes());
            }
            (first, (last + 1).saturating_sub(first))
        };
        let (first_buffer, buffers) = entries(&self.buffers);
        let (first_pool, pools) = entries(&self.pools);
        let shape = TableShape {
            first_buffer,
            buffers,
            first_pool,
            pools,
        };
        (shape, out)
    }
}
