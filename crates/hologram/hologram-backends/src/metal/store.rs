//! Device memory of buffers and pools: each apart where kernels reach all memory by address, else cut from one arena.

use openvm_metal_common::{CommandStream, MetalSlice};

use super::apart::Apart;
use super::arena::Arena;
use crate::error::Result;

/// Memory by places: addresses, or offsets in the arena.
pub enum Store {
    /// Each block for itself.
    Apart(Apart),
    /// One range for all.
    Arena(Arena),
}

impl Store {
    /// No memory in use; an arena for GPUs of virtual Macs, whose kernels reach only what they are given.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(stream: &CommandStream) -> Result<Self> {
        let context = stream.context();
        match context.device_profile().addresses {
            true => Apart::new(context).map(Self::Apart),
            false => Arena::new(stream).map(Self::Arena),
        }
    }

    /// Bytes held by buffers and pools.
    pub fn in_use(&self) -> usize {
        match self {
            Self::Apart(apart) => apart.in_use(),
            Self::Arena(arena) => arena.in_use(),
        }
    }

    /// Bytes of device memory that hold them, those of the context's other buffers included where they share segments.
    pub fn capacity(&self, stream: &CommandStream) -> usize {
        match self {
            Self::Apart(_) => stream.context().memory().reserved as usize,
            Self::Arena(arena) => arena.capacity(),
        }
    }

    /// Slice that kernels are given; places are seen from here as [`Store::offset`] says.
    pub fn base(&self) -> MetalSlice<'_, u8> {
        match self {
            Self::Apart(apart) => apart.origin(),
            Self::Arena(arena) => arena.all(),
        }
    }

    /// A place as kernels take it.
    pub fn offset(&self, at: usize) -> usize {
        match self {
            Self::Apart(apart) => apart.offset(at),
            Self::Arena(_) => at,
        }
    }

    /// The memory around a place, and where in it the place is.
    pub fn around(&self, at: usize) -> Option<(MetalSlice<'_, u8>, usize)> {
        match self {
            Self::Apart(apart) => apart
                .block(at)
                .map(|(block, offset)| (block.as_slice(), offset)),
            Self::Arena(arena) => Some((arena.all(), at)),
        }
    }

    /// Memory that kernels may reach beside what they are given.
    pub fn beside(&self) -> Vec<MetalSlice<'_, u8>> {
        match self {
            Self::Apart(apart) => apart.blocks().map(|block| block.as_slice()).collect(),
            Self::Arena(_) => Vec::new(),
        }
    }

    /// Address on the host of a place in use; `None` on devices with memory of their own. What is there is known after a wait, and
    /// the address is good until more is taken or given back.
    pub fn host(&self, at: usize) -> Option<usize> {
        match self {
            Self::Apart(apart) => apart.host(at),
            Self::Arena(arena) => arena.host().map(|first| first + at),
        }
    }

    /// Address on the host of place 0, on a processor, where that of any other is as far from it as the place; sums wrap.
    pub fn host_base(&self) -> Option<usize> {
        match self {
            Self::Apart(apart) => apart.to_host(),
            Self::Arena(arena) => arena.host(),
        }
    }

    /// Place of `size` bytes, zeroed or what was there before.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`](crate::BackendError::OutOfMemory).
    pub fn allocate(&mut self, stream: &CommandStream, size: usize, zeroed: bool) -> Result<usize> {
        match self {
            _ if size == 0 => Ok(0),
            Self::Apart(apart) => apart.allocate(stream, size, zeroed),
            Self::Arena(arena) => arena.allocate(stream, size, zeroed),
        }
    }

    /// Gives back what [`Store::allocate`] gave.
    pub fn release(&mut self, at: usize, size: usize) {
        match self {
            _ if size == 0 => {}
            Self::Apart(apart) => apart.release(at),
            Self::Arena(arena) => arena.release(at, size),
        }
    }

    /// Writes host bytes.
    pub fn write(&mut self, stream: &CommandStream, at: usize, data: &[u8]) -> Result<()> {
        match self {
            _ if data.is_empty() => Ok(()),
            Self::Apart(apart) => apart.write(stream, at, data),
            Self::Arena(arena) => arena.write(stream, at, data),
        }
    }

    /// Reads bytes to the host, after the work before.
    pub fn read(&self, stream: &CommandStream, at: usize, data: &mut [u8]) -> Result<()> {
        match self {
            _ if data.is_empty() => Ok(()),
            Self::Apart(apart) => apart.read(stream, at, data),
            Self::Arena(arena) => arena.read(stream, at, data),
        }
    }

    /// Copies between ranges that do not overlap.
    pub fn copy(
        &mut self,
        stream: &CommandStream,
        src: usize,
        dst: usize,
        len: usize,
    ) -> Result<()> {
        match self {
            _ if len == 0 => Ok(()),
            Self::Apart(apart) => apart.copy(stream, src, dst, len),
            Self::Arena(arena) => arena.copy(stream, src, dst, len),
        }
    }
}
