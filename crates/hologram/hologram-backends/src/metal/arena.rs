//! One range of device memory from which buffers and pools are cut, for devices whose kernels reach only what they are given: GPUs of
//! virtual Macs.
//!
//! Kernels are given the whole arena, so that a program may use any number of buffers. It grows by a quarter at least:
//! its contents are copied on the device, offsets stay. Without buffers it is small again.

use std::collections::BTreeMap;

use openvm_metal_common::{CommandStream, MemCopyD2D, MetalBuffer, MetalSlice};

use super::device_error;
use crate::error::{BackendError, Result};

/// Offsets and lengths are multiples of this.
const GRAIN: usize = 256;
/// Bytes of the first arena.
const FIRST: usize = 1 << 20;

/// Device memory with a list of what is free.
pub struct Arena {
    memory: MetalBuffer<u8>,
    /// Offset to length; neighbours are merged.
    free: BTreeMap<usize, usize>,
    in_use: usize,
}

impl Arena {
    /// An arena of one MiB.
    pub fn new(stream: &CommandStream) -> Result<Self> {
        let memory = MetalBuffer::uninit(stream.context(), FIRST).map_err(device_error)?;
        Ok(Self {
            memory,
            free: BTreeMap::from([(0, FIRST)]),
            in_use: 0,
        })
    }

    /// Bytes held by buffers and pools, rounded up.
    pub fn in_use(&self) -> usize {
        self.in_use
    }

    /// Bytes of device memory.
    pub fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// All of it.
    pub fn all(&self) -> MetalSlice<'_, u8> {
        self.memory.as_slice()
    }

    /// Address of its first byte on the host; `None` on devices with memory of their own.
    pub fn host(&self) -> Option<usize> {
        let address = self.memory.as_slice().host_address()?;
        usize::try_from(address).ok()
    }

    /// Offset of `size` bytes, zeroed or what was there before, taken from the smallest free range that holds them.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`].
    pub fn allocate(&mut self, stream: &CommandStream, size: usize, zeroed: bool) -> Result<usize> {
        if size == 0 {
            return Ok(0);
        }
        let wanted = size
            .checked_next_multiple_of(GRAIN)
            .ok_or(BackendError::OutOfMemory { requested: size })?;
        let best = |free: &BTreeMap<usize, usize>| {
            let fits = free.iter().filter(|&(_, &len)| len >= wanted);
            fits.min_by_key(|&(_, &len)| len)
                .map(|(&at, &len)| (at, len))
        };
        let (at, len) = match best(&self.free) {
            Some(found) => found,
            None => {
                self.grow(stream, wanted, size)?;
                best(&self.free).ok_or(BackendError::OutOfMemory { requested: size })?
            }
        };
        self.free.remove(&at);
        if len > wanted {
            self.free.insert(at + wanted, len - wanted);
        }
        self.in_use += wanted;
        if !zeroed {
            return Ok(at);
        }
        let zeroed = self
            .memory
            .try_slice_mut(at..at + wanted)
            .and_then(|mut range| range.fill_zero(stream));
        if let Err(error) = zeroed {
            self.release(at, size);
            return Err(device_error(error));
        }
        Ok(at)
    }

    /// Gives back what [`Arena::allocate`] gave.
    pub fn release(&mut self, at: usize, size: usize) {
        if size == 0 {
            return;
        }
        let len = size.next_multiple_of(GRAIN);
        self.in_use -= len;
        self.insert(at, len);
        if self.in_use == 0 && self.memory.len() > FIRST {
            self.shrink();
        }
    }

    /// Gives the memory back; without any for a small arena it stays.
    fn shrink(&mut self) {
        let context = self.memory.context().clone();
        if let Ok(memory) = MetalBuffer::uninit(&context, FIRST) {
            self.memory = memory;
            self.free = BTreeMap::from([(0, FIRST)]);
            context.trim();
        }
    }

    fn insert(&mut self, mut at: usize, mut len: usize) {
        if let Some(after) = self.free.remove(&(at + len)) {
            len += after;
        }
        if let Some((&before, &before_len)) = self.free.range(..at).next_back() {
            if before + before_len == at {
                self.free.remove(&before);
                at = before;
                len += before_len;
            }
        }
        self.free.insert(at, len);
    }

    /// At least `wanted` bytes more; a quarter where the device has that much.
    fn grow(&mut self, stream: &CommandStream, wanted: usize, size: usize) -> Result<()> {
        let old = self.memory.len();
        let over = BackendError::OutOfMemory { requested: size };
        let least = old.checked_add(wanted).ok_or(over.clone())?;
        let context = stream.context();
        let sizes = [least.max(old.saturating_add(old / 4)), least];
        let made = sizes
            .iter()
            .find_map(|&len| MetalBuffer::<u8>::uninit(context, len).ok());
        let mut memory = made.ok_or(over)?;
        let mut start = memory.try_slice_mut(..old).map_err(device_error)?;
        self.memory
            .copy_to(&mut start, stream)
            .map_err(device_error)?;
        self.insert(old, memory.len() - old);
        self.memory = memory;
        Ok(())
    }

    /// Writes host bytes.
    pub fn write(&mut self, stream: &CommandStream, at: usize, data: &[u8]) -> Result<()> {
        use openvm_metal_common::MemCopyH2D;
        let range = self.memory.try_slice_mut(at..at + data.len());
        range
            .and_then(|range| data.copy_to(range, stream))
            .map_err(device_error)
    }

    /// Reads bytes to the host, after the work before.
    pub fn read(&self, stream: &CommandStream, at: usize, data: &mut [u8]) -> Result<()> {
        use openvm_metal_common::MemCopyD2H;
        let range = self.memory.try_slice(at..at + data.len());
        range
            .and_then(|range| range.copy_to_host(data, stream))
            .map_err(device_error)
    }

    /// Copies between ranges that do not overlap.
    pub fn copy(
        &mut self,
        stream: &CommandStream,
        src: usize,
        dst: usize,
        len: usize,
    ) -> Result<()> {
        super::apart::within(stream, &mut self.memory, src, dst, len).map_err(device_error)
    }
}
