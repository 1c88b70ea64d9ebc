//! Buffers and pools each in memory of its own, for devices whose kernels reach all memory by address: processors, NVIDIA GPUs,
//! Apple GPUs.
//!
//! Kernels are given a small buffer, the origin, and add the distance to what they access. The context's pool shares
//! segments between small blocks, uses freed memory again, and gives unused segments back to the device.

use std::collections::BTreeMap;

use openvm_metal_common::{CommandStream, MemCopyD2D, MetalBuffer, MetalContext, MetalSlice};

use super::device_error;
use crate::error::{BackendError, Result};

/// Bytes of the origin.
const ORIGIN: usize = 256;
/// Bytes that the pool may hold beyond as much again as is in use: what is freed is often wanted again, and to fetch memory takes
/// longer than to compute on it.
const SLACK: u64 = 64 << 20;
/// The part of the device's memory that it may hold in the same way while there are blocks.
const SHARE: u64 = 8;
/// Blocks of so few bytes in all are as good as none.
const FEW: usize = 16 << 20;
/// Bytes that the pool may then hold beyond what it could not give back the last time: a few segments, so that a single block that
/// comes and goes is not fetched each time.
const IDLE: u64 = 128 << 20;
/// The part of the memory that it may then hold on devices whose memory nobody else uses.
const IDLE_SHARE: u64 = 32;

/// Blocks by the address of their first byte for kernels; none are empty.
pub struct Apart {
    origin: MetalBuffer<u8>,
    blocks: BTreeMap<usize, MetalBuffer<u8>>,
    in_use: usize,
    /// Bytes that the pool held with few blocks after it gave back all that it could.
    least: u64,
}

/// The address of the first byte for kernels.
fn address(slice: MetalSlice<'_, u8>) -> Result<usize> {
    let address = slice.address().and_then(|at| usize::try_from(at).ok());
    let none = || BackendError::UnsupportedOperation("the device's memory has no addresses".into());
    address.ok_or_else(none)
}

impl Apart {
    /// No blocks.
    ///
    /// # Errors
    /// Out of memory; a device without addresses.
    pub fn new(context: &MetalContext) -> Result<Self> {
        let origin = MetalBuffer::uninit(context, ORIGIN).map_err(device_error)?;
        address(origin.as_slice())?;
        Ok(Self {
            origin,
            blocks: BTreeMap::new(),
            in_use: 0,
            least: context.memory().reserved,
        })
    }

    /// Bytes of all blocks.
    pub fn in_use(&self) -> usize {
        self.in_use
    }

    /// Slice that kernels are given.
    pub fn origin(&self) -> MetalSlice<'_, u8> {
        self.origin.as_slice()
    }

    /// The address as kernels take it; sums wrap.
    pub fn offset(&self, at: usize) -> usize {
        // It was found when the origin was made.
        at.wrapping_sub(address(self.origin.as_slice()).unwrap_or(0))
    }

    /// Address of `size` bytes, at least 1, zeroed or what was there before.
    ///
    /// # Errors
    /// [`BackendError::OutOfMemory`].
    pub fn allocate(&mut self, stream: &CommandStream, size: usize, zeroed: bool) -> Result<usize> {
        let made = MetalBuffer::<u8>::uninit(stream.context(), size);
        let mut block = made.map_err(|_| BackendError::OutOfMemory { requested: size })?;
        if zeroed {
            let mut all = block.as_slice_mut();
            all.fill_zero(stream).map_err(device_error)?;
        }
        let at = address(block.as_slice())?;
        self.in_use += size;
        self.blocks.insert(at, block);
        Ok(at)
    }

    /// Frees a block.
    pub fn release(&mut self, at: usize) {
        let Some(block) = self.blocks.remove(&at) else {
            return;
        };
        self.in_use -= block.len();
        let context = block.context().clone();
        drop(block);
        let memory = context.memory();
        let idle = self.in_use <= FEW;
        let most = match idle {
            true if context.device_profile().unified => self.least.saturating_add(IDLE),
            true => self
                .least
                .saturating_add(IDLE.max(memory.budget / IDLE_SHARE)),
            false => {
                let slack = SLACK.max(memory.budget / SHARE);
                memory.live.saturating_mul(2).saturating_add(slack)
            }
        };
        if memory.reserved > most {
            context.trim();
            if idle {
                self.least = context.memory().reserved;
            }
        }
    }

    /// The block that holds a byte, and the place of the byte in it.
    pub fn block(&self, at: usize) -> Option<(&MetalBuffer<u8>, usize)> {
        let (&first, block) = self.blocks.range(..=at).next_back()?;
        Some((block, at - first))
    }

    fn block_mut(&mut self, at: usize) -> Option<(&mut MetalBuffer<u8>, usize)> {
        let (&first, block) = self.blocks.range_mut(..=at).next_back()?;
        Some((block, at - first))
    }

    /// Address on the host of a byte of a block; `None` on devices with memory of their own.
    pub fn host(&self, at: usize) -> Option<usize> {
        let (block, from) = self.block(at)?;
        let first = usize::try_from(block.as_slice().host_address()?).ok()?;
        Some(first + from)
    }

    /// Summand from an address for kernels to the host's, on a CPU, where it is the same for all memory.
    pub fn to_host(&self) -> Option<usize> {
        let origin = self.origin.as_slice();
        let host = usize::try_from(origin.host_address()?).ok()?;
        Some(host.wrapping_sub(address(origin).ok()?))
    }

    /// All blocks.
    pub fn blocks(&self) -> impl Iterator<Item = &MetalBuffer<u8>> {
        self.blocks.values()
    }

    /// Writes host bytes that lie in one block.
    pub fn write(&mut self, stream: &CommandStream, at: usize, data: &[u8]) -> Result<()> {
        use openvm_metal_common::MemCopyH2D;
        let (block, from) = self.block_mut(at).ok_or_else(lost)?;
        let range = block.try_slice_mut(from..from + data.len());
        range
            .and_then(|range| data.copy_to(range, stream))
            .map_err(device_error)
    }

    /// Reads bytes of one block to the host, after the work before.
    pub fn read(&self, stream: &CommandStream, at: usize, data: &mut [u8]) -> Result<()> {
        use openvm_metal_common::MemCopyD2H;
        let (block, from) = self.block(at).ok_or_else(lost)?;
        let range = block.try_slice(from..from + data.len());
        range
            .and_then(|range| range.copy_to_host(data, stream))
            .map_err(device_error)
    }

    /// Copies between ranges that do not overlap, each in one block.
    pub fn copy(
        &mut self,
        stream: &CommandStream,
        src: usize,
        dst: usize,
        len: usize,
    ) -> Result<()> {
        let (first, _) = self.block(dst).ok_or_else(lost)?;
        let target = address(first.as_slice())?;
        // The target is taken out while the source is looked at; they may be one block.
        let mut block = self.blocks.remove(&target).ok_or_else(lost)?;
        let to = dst - target;
        let done = if (target..target + block.len()).contains(&src) {
            within(stream, &mut block, src - target, to, len)
        } else {
            match self.block(src) {
                Some((source, from)) => source
                    .try_slice(from..from + len)
                    .and_then(|source| source.copy_to(block.try_slice_mut(to..to + len)?, stream)),
                None => {
                    self.blocks.insert(target, block);
                    return Err(lost());
                }
            }
        };
        self.blocks.insert(target, block);
        done.map_err(device_error)
    }
}

/// Copies within one block.
pub(super) fn within(
    stream: &CommandStream,
    block: &mut MetalBuffer<u8>,
    src: usize,
    dst: usize,
    len: usize,
) -> openvm_metal_common::Result<()> {
    let (mut low, mut high) = block.split_at_mut(src.max(dst));
    let low = low
        .reborrow()
        .try_into_slice(src.min(dst)..src.min(dst) + len)?;
    let high = high.reborrow().try_into_slice(..len)?;
    match src < dst {
        true => low.copy_to(high, stream),
        false => high.copy_to(low, stream),
    }
}

/// The callers ask for bytes of live blocks only.
pub(super) fn lost() -> BackendError {
    BackendError::Device("no block at this address".into())
}
