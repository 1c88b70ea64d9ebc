//! The leaves that a segment touched.

use openvm_circuit::{
    arch::DEFAULT_BLOCK_SIZE,
    system::{
        memory::{dimensions::MemoryDimensions, persistent::BLOCKS_PER_CHUNK, CHUNK},
        TouchedMemory,
    },
};
use p3_baby_bear::BabyBear as F;
use rayon::prelude::*;

use super::image::{Cells, Space};

/// A leaf that a segment read or wrote.
#[derive(Clone, Debug)]
pub struct TouchedLeaf {
    pub address_space: u32,
    /// The index in its address space.
    pub label: u32,
    /// The index in the tree.
    pub index: u64,
    /// Timestamp of the last access to each block; zero for a block that was not touched.
    pub timestamps: [u32; BLOCKS_PER_CHUNK],
    pub old: Cells,
    pub new: Cells,
}

impl TouchedLeaf {
    /// The leaf `label` of `address_space`, with no access yet.
    pub fn unchanged(
        spaces: &[Space],
        dimensions: &MemoryDimensions,
        address_space: u32,
        label: u32,
    ) -> Self {
        let cells = spaces[address_space as usize].cells(label);
        Self {
            address_space,
            label,
            index: dimensions.label_to_index((address_space, label)),
            timestamps: [0; BLOCKS_PER_CHUNK],
            old: cells,
            new: cells,
        }
    }
}

/// Groups the touched blocks of four cells into leaves, ascending by index. `spaces`, by address
/// space, hold the memory before the segment.
pub fn touched_leaves(
    spaces: &[Space],
    dimensions: &MemoryDimensions,
    mut memory: TouchedMemory<F>,
) -> Vec<TouchedLeaf> {
    if !memory.is_sorted_by_key(|(address, _)| *address) {
        memory.sort_unstable_by_key(|(address, _)| *address);
    }
    let label = |pointer: u32| pointer / CHUNK as u32;
    memory
        .par_chunk_by(|((space, a), _), ((other, b), _)| space == other && label(*a) == label(*b))
        .map(|blocks| {
            let (address_space, pointer) = blocks[0].0;
            let mut leaf =
                TouchedLeaf::unchanged(spaces, dimensions, address_space, label(pointer));
            for ((_, pointer), block) in blocks {
                let position = *pointer as usize % CHUNK / DEFAULT_BLOCK_SIZE;
                leaf.timestamps[position] = block.timestamp;
                let first = position * DEFAULT_BLOCK_SIZE;
                leaf.new[first..first + DEFAULT_BLOCK_SIZE].copy_from_slice(&block.values);
            }
            leaf
        })
        .collect()
}
