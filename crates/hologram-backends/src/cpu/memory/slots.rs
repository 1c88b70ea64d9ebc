//! Blocks by handle.

use super::block::Block;
use super::{Span, PROGRAM_POOL_BYTES};

/// Uses of a slot after which it is left alone, so that no handle is given twice.
const MAX_GENERATION: u32 = 1 << 30;
/// What a pool of a program counts at least.
const MIN_CHARGE: u64 = 64;

/// Blocks by handle: `index + 1` in the low half, the number of earlier uses of the slot in the upper.
///
/// Cost: constant for every operation; a freed slot is used again.
#[derive(Default)]
pub(in crate::cpu) struct Slots {
    slots: Vec<Slot>,
    free: Vec<u32>,
    live: u64,
    bytes: u64,
    charged: u64,
}

struct Slot {
    handle: u64,
    block: Option<Block>,
    charge: u64,
}

impl Slots {
    /// A new zeroed block; `None` when there is no memory.
    pub fn allocate(&mut self, size: usize) -> Option<u64> {
        self.insert(size, 0)
    }

    /// The same for a program, which may take no more than [`PROGRAM_POOL_BYTES`] in all.
    pub fn allocate_charged(&mut self, size: u64) -> Option<u64> {
        let charge = size.max(MIN_CHARGE);
        if self.charged.checked_add(charge)? > PROGRAM_POOL_BYTES {
            return None;
        }
        self.insert(usize::try_from(size).ok()?, charge)
    }

    fn insert(&mut self, size: usize, charge: u64) -> Option<u64> {
        let block = Block::zeroed(size)?;
        let index = match self.free.pop() {
            Some(index) => index as usize,
            None => {
                let handle = u64::from(u32::try_from(self.slots.len() + 1).ok()?);
                self.slots.push(Slot {
                    handle,
                    block: None,
                    charge: 0,
                });
                self.slots.len() - 1
            }
        };
        let slot = &mut self.slots[index];
        slot.block = Some(block);
        slot.charge = charge;
        self.charged += charge;
        self.live += 1;
        self.bytes += size as u64;
        Some(slot.handle)
    }

    /// Frees a block; `None` when the handle names none.
    pub fn free(&mut self, handle: u64) -> Option<()> {
        let index = Self::index(handle)?;
        let slot = self.slots.get_mut(index)?;
        if slot.handle != handle {
            return None;
        }
        let block = slot.block.take()?;
        self.bytes -= block.span().len;
        self.charged -= slot.charge;
        self.live -= 1;
        slot.handle += 1 << 32;
        if (slot.handle >> 32) < u64::from(MAX_GENERATION) {
            self.free.push(index as u32);
        }
        Some(())
    }

    /// The bytes of a block; `None` when the handle names none.
    #[inline]
    pub fn find(&self, handle: u64) -> Option<Span> {
        let slot = self.slots.get(Self::index(handle)?)?;
        if slot.handle != handle {
            return None;
        }
        slot.block.as_ref().map(Block::span)
    }

    /// Number of live blocks.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Bytes of live blocks.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    #[inline]
    fn index(handle: u64) -> Option<usize> {
        (handle as u32).checked_sub(1).map(|index| index as usize)
    }
}
