//! Blocks of memory by handle.

/// Uses of a slot after which it is left alone, so that no handle is given twice.
const MAX_GENERATION: u32 = 1 << 30;

/// Blocks by handle: `index + 1` in the low half, the number of earlier uses of the slot in the upper. Backends number
/// their buffers and pools so, and thus alike.
///
/// Cost: constant for every operation; a freed slot is used again.
#[derive(Debug)]
pub(crate) struct Slots<B> {
    slots: Vec<Slot<B>>,
    free: Vec<u32>,
    live: u64,
    bytes: u64,
    charged: u64,
}

#[derive(Debug)]
struct Slot<B> {
    handle: u64,
    block: Option<B>,
    size: u64,
    charge: u64,
}

impl<B> Default for Slots<B> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            live: 0,
            bytes: 0,
            charged: 0,
        }
    }
}

impl<B> Slots<B> {
    /// Takes a block of `size` bytes, of which `charge` count as a program's; `None` without handles left.
    pub fn insert(&mut self, block: B, size: u64, charge: u64) -> Option<u64> {
        let index = match self.free.pop() {
            Some(index) => index as usize,
            None => {
                let handle = u64::from(u32::try_from(self.slots.len() + 1).ok()?);
                self.slots.push(Slot {
                    handle,
                    block: None,
                    size: 0,
                    charge: 0,
                });
                self.slots.len() - 1
            }
        };
        let slot = &mut self.slots[index];
        (slot.block, slot.size, slot.charge) = (Some(block), size, charge);
        self.charged += charge;
        self.live += 1;
        self.bytes += size;
        Some(slot.handle)
    }

    /// Takes a block out; `None` when the handle names none.
    pub fn remove(&mut self, handle: u64) -> Option<B> {
        let index = Self::index(handle)?;
        let slot = self.slots.get_mut(index)?;
        if slot.handle != handle {
            return None;
        }
        let block = slot.block.take()?;
        self.retire(index);
        Some(block)
    }

    /// The block that a handle names, if it names one.
    #[inline]
    pub fn get(&self, handle: u64) -> Option<&B> {
        let slot = self.slots.get(Self::index(handle)?)?;
        if slot.handle != handle {
            return None;
        }
        slot.block.as_ref()
    }

    /// All handles and blocks, ascending by their place.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &B)> {
        let slots = self.slots.iter();
        slots.filter_map(|slot| slot.block.as_ref().map(|block| (slot.handle, block)))
    }

    /// Other blocks under the same handles, which `block` makes of handle and block; those that it makes none of are
    /// freed. Later handles are those that would have followed here.
    pub fn map<C>(&self, mut block: impl FnMut(u64, &B) -> Option<C>) -> Slots<C> {
        let mut lost = Vec::new();
        let slots = self.slots.iter().enumerate().map(|(index, slot)| {
            let old = slot.block.as_ref();
            let made = old.and_then(|old| block(slot.handle, old));
            if old.is_some() && made.is_none() {
                lost.push(index);
            }
            Slot {
                handle: slot.handle,
                block: made,
                size: slot.size,
                charge: slot.charge,
            }
        });
        let mut mapped = Slots {
            slots: slots.collect(),
            free: self.free.clone(),
            live: self.live,
            bytes: self.bytes,
            charged: self.charged,
        };
        for index in lost {
            mapped.retire(index);
        }
        mapped
    }

    /// Counts a slot whose block was taken out as free.
    fn retire(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        self.bytes -= slot.size;
        self.charged -= slot.charge;
        self.live -= 1;
        slot.handle += 1 << 32;
        if (slot.handle >> 32) < u64::from(MAX_GENERATION) {
            self.free.push(index as u32);
        }
    }

    /// Number of live blocks.
    pub fn live(&self) -> u64 {
        self.live
    }

    /// Bytes of live blocks.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes of live blocks that count as a program's.
    pub fn charged(&self) -> u64 {
        self.charged
    }

    #[inline]
    fn index(handle: u64) -> Option<usize> {
        (handle as u32).checked_sub(1).map(|index| index as usize)
    }
}
