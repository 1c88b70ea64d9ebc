//! Memory of freed buffers that new ones use again: the system would have to clear its pages once more.

use super::Block;

/// Smaller blocks are left to the allocator, which keeps them itself.
const SMALLEST: u64 = 64 << 10;
/// Most bytes that are kept.
const MOST_BYTES: u64 = 256 << 20;
/// Most blocks that are kept.
const MOST_BLOCKS: usize = 16;

/// Blocks that no buffer uses, the one freed last at the end.
#[derive(Default)]
pub(in crate::cpu) struct SpareBlocks {
    blocks: Vec<Block>,
    bytes: u64,
}

impl SpareBlocks {
    /// Keeps a block for later, and frees those that were kept for longest where there are too many.
    pub fn keep(&mut self, block: Block) {
        let len = block.capacity();
        if !(SMALLEST..=MOST_BYTES).contains(&len) {
            return;
        }
        self.bytes += len;
        self.blocks.push(block);
        while self.bytes > MOST_BYTES || self.blocks.len() > MOST_BLOCKS {
            self.bytes -= self.blocks.remove(0).capacity();
        }
    }

    /// A block of `size` bytes, of those that are at most a quarter larger; its bytes are as they were left.
    pub fn take(&mut self, size: usize) -> Option<Block> {
        let size = size as u64;
        let fits = |block: &Block| (size..=size + size / 4).contains(&block.capacity());
        let index = self.blocks.iter().rposition(fits)?;
        let mut block = self.blocks.remove(index);
        self.bytes -= block.capacity();
        block.set_len(size);
        Some(block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(len: usize) -> Block {
        Block::zeroed(len).expect("memory")
    }

    #[test]
    fn blocks_are_used_again() {
        let mut spare = SpareBlocks::default();
        spare.keep(block(100));
        assert!(spare.take(100).is_none());
        spare.keep(block(100_000));
        assert!(spare.take(100_001).is_none());
        assert!(spare.take(79_000).is_none());
        let taken = spare.take(90_000).expect("it fits");
        assert_eq!(taken.span().len, 90_000);
        assert!(spare.take(90_000).is_none());
        // What was cut is there again.
        spare.keep(taken);
        assert_eq!(spare.take(100_000).expect("it fits").span().len, 100_000);
    }

    #[test]
    fn few_are_kept() {
        let mut spare = SpareBlocks::default();
        (0..100).for_each(|_| spare.keep(block(1 << 16)));
        assert_eq!(
            (spare.blocks.len(), spare.bytes),
            (MOST_BLOCKS, (MOST_BLOCKS as u64) << 16)
        );
        (0..5).for_each(|_| spare.keep(block(100 << 20)));
        assert_eq!((spare.blocks.len(), spare.bytes), (2, 200 << 20));
        spare.keep(block(300 << 20));
        assert_eq!(spare.blocks.len(), 2);
    }
}
