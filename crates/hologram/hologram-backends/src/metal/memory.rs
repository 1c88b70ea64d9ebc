//! Buffers, pools and the boundary pool of a [`MetalBackend`](super::MetalBackend).

use openvm_metal_common::CommandStream;

use super::adopted::Adopted;
use super::store::Store;
use crate::atlas::{BOUNDARY_BYTES, CLASS_BYTES};
use crate::backend::slots::Slots;
use crate::error::{BackendError, Result};
use crate::handle::{BufferHandle, PoolHandle};

/// Bytes of the store, or of the host's memory in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Place of the first byte in the [`Store`].
    pub at: usize,
    /// Number of bytes.
    pub size: usize,
}

/// Handles and where their bytes are; handles are numbered as those of [`CpuBackend`](crate::cpu::CpuBackend) are.
pub struct Memory {
    /// Device memory.
    pub store: Store,
    pub(super) buffers: Slots<Range>,
    pub(super) pools: Slots<Range>,
    pub(super) boundary: Option<usize>,
    scratch: Option<Range>,
    /// The host's memory in place of the store.
    pub(super) adopted: Option<Adopted>,
    /// Changes whenever a handle's bytes do.
    pub(super) version: u64,
}

/// Shape of the table in which kernels look handles up: the low half of the first handle, and one entry for it and each following
/// one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableShape {
    /// Low half of the first buffer handle.
    pub first_buffer: u64,
    /// Entries of buffers.
    pub buffers: u64,
    /// Low half of the first pool handle.
    pub first_pool: u64,
    /// Entries of pools, behind those of buffers.
    pub pools: u64,
}

impl Memory {
    /// No buffers.
    pub fn new(stream: &CommandStream) -> Result<Self> {
        Ok(Self {
            store: Store::new(stream)?,
            buffers: Slots::default(),
            pools: Slots::default(),
            boundary: None,
            scratch: None,
            adopted: None,
            version: 1,
        })
    }

    /// Changes whenever a handle's bytes do.
    pub fn version(&self) -> u64 {
        self.version
    }

    fn allocate(
        store: &mut Store,
        slots: &mut Slots<Range>,
        stream: &CommandStream,
        size: usize,
        zeroed: bool,
    ) -> Result<u64> {
        let at = store.allocate(stream, size, zeroed)?;
        slots
            .insert(Range { at, size }, size as u64, 0)
            .ok_or_else(|| {
                store.release(at, size);
                BackendError::OutOfMemory { requested: size }
            })
    }

    /// A new buffer, zeroed or with what was there before.
    pub fn allocate_buffer(
        &mut self,
        stream: &CommandStream,
        size: usize,
        zeroed: bool,
    ) -> Result<BufferHandle> {
        let raw = Self::allocate(&mut self.store, &mut self.buffers, stream, size, zeroed)?;
        self.version += 1;
        Ok(BufferHandle::from_raw(raw))
    }

    /// Frees a buffer.
    pub fn free_buffer(&mut self, handle: BufferHandle) -> Result<()> {
        let range = self
            .buffers
            .remove(handle.raw())
            .ok_or(BackendError::InvalidBufferHandle(handle))?;
        self.version += 1;
        self.store.release(range.at, range.size);
        Ok(())
    }

    /// A new zeroed pool.
    pub fn allocate_pool(&mut self, stream: &CommandStream, size: usize) -> Result<PoolHandle> {
        let raw = Self::allocate(&mut self.store, &mut self.pools, stream, size, true)?;
        self.version += 1;
        Ok(PoolHandle::from_raw(raw))
    }

    /// Frees a pool.
    pub fn free_pool(&mut self, handle: PoolHandle) -> Result<()> {
        let range = self
            .pools
            .remove(handle.raw())
            .ok_or(BackendError::InvalidPoolHandle(handle))?;
        self.version += 1;
        self.store.release(range.at, range.size);
        Ok(())
    }

    /// Bytes of a buffer; the boundary pool has its size whether it was made or not.
    pub fn buffer_size(&self, handle: BufferHandle) -> Option<usize> {
        match (handle, handle.as_class()) {
            (BufferHandle::BOUNDARY, _) => Some(BOUNDARY_BYTES),
            (_, Some(_)) => Some(CLASS_BYTES),
            _ => self.buffers.get(handle.raw()).map(|range| range.size),
        }
    }

    /// Bytes of a pool.
    pub fn pool(&self, handle: PoolHandle) -> Result<Range> {
        let found = self.pools.get(handle.raw()).copied();
        found.ok_or(BackendError::InvalidPoolHandle(handle))
    }

    /// Finds a buffer; makes the boundary pool if it is asked for.
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
            let boundary = self.boundary(stream)?;
            let at = boundary.wrapping_add(usize::from(class) * CLASS_BYTES);
            return Ok(Some(Range {
                at,
                size: CLASS_BYTES,
            }));
        }
        Ok(self.buffers.get(handle.raw()).copied())
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
        let at = self.store.allocate(stream, BOUNDARY_BYTES, true)?;
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
        if let Some(adopted) = &mut self.adopted {
            return adopted.scratch(size).map(Some);
        }
        if self.scratch.is_none_or(|range| range.size < size) {
            if let Some(old) = self.scratch.take() {
                self.store.release(old.at, old.size);
            }
            let at = self.store.allocate(stream, size, true)?;
            self.scratch = Some(Range { at, size });
        }
        Ok(self.scratch)
    }

    /// The table of all handles, three words each: offset from the store's base (`u64::MAX` if freed), size and handle.
    pub fn table(&self) -> (TableShape, Vec<u8>) {
        let mut out = Vec::new();
        let mut entries = |slots: &Slots<Range>| {
            let low = |handle: u64| handle & u64::from(u32::MAX);
            let (mut first, mut count) = (1, 0);
            for (handle, range) in slots.iter() {
                if count == 0 {
                    first = low(handle);
                }
                let mut put = |words: [u64; 3]| {
                    words
                        .iter()
                        .for_each(|word| out.extend_from_slice(&word.to_le_bytes()));
                };
                while first + count < low(handle) {
                    put([u64::MAX, 0, 0]);
                    count += 1;
                }
                put([
                    self.store.offset(range.at) as u64,
                    range.size as u64,
                    handle,
                ]);
                count += 1;
            }
            (first, count)
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
