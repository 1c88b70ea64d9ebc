//! The digests of a Merkle tree of which only the parts that are not zero are held.

use std::sync::Arc;

use rayon::prelude::*;

use super::{
    hash::{digest, state, Compressor, Digest, State},
    merkle_rows::{LevelRows, MerkleRows, Parent},
    shared_array::SharedArray,
};

/// Levels of one block.
const BLOCK_LEVELS: usize = 3;
/// Nodes of the lowest level of a block.
const BLOCK_NODES: usize = 1 << BLOCK_LEVELS;
/// Starts of a block's levels.
const OFFSETS: [usize; BLOCK_LEVELS] = [0, 8, 12];
/// Blocks that one task updates.
const TASK_BLOCKS: usize = 64;

/// Three levels of a subtree: its 8 lowest nodes, their 4 parents, and the 2 nodes above. The node
/// above those is one of the lowest nodes of another block.
type Block = [Digest; 14];

/// A new digest of the node `index` of a level.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub index: u64,
    pub digest: Digest,
}

/// The nodes of levels 1 to `height` of a binary Merkle tree; level 0, the leaves, is not held.
///
/// Tier `t` holds levels `1 + 3t` to `3 + 3t`, as blocks. A block that is not held stands for
/// zeros. Clones share blocks that are the same in both.
#[derive(Clone, Debug)]
pub struct SparseMerkleTree {
    height: usize,
    zeros: Arc<[Digest]>,
    tiers: Vec<SharedArray<Block>>,
}

/// New digests of a tree, which are not in it.
pub struct Update {
    /// Open digests of each tier.
    tiers: Vec<Vec<Open>>,
    root: Digest,
}

impl Update {
    /// The root with the new digests.
    pub fn root(&self) -> &Digest {
        &self.root
    }
}

/// A block that is being updated.
struct Open {
    index: u64,
    /// Absent if it is zeros.
    old: Option<Arc<Block>>,
    block: Box<Block>,
    /// Flags of the lowest nodes that are given new digests, which may equal the old ones.
    touched: u8,
    /// The first of these changes.
    first_change: usize,
    /// The parent of the block's highest two nodes.
    old_root: Digest,
    root: Digest,
}

impl SparseMerkleTree {
    /// The tree of `2^height` zero leaves.
    pub fn new(height: usize, compressor: &Compressor) -> Self {
        assert!(height > 0, "a tree of one leaf has no nodes to hold");
        Self {
            height,
            zeros: compressor.zero_digests(height).into(),
            tiers: (0..height.div_ceil(BLOCK_LEVELS))
                .map(|tier| {
                    SharedArray::new(1 << height.saturating_sub((tier + 1) * BLOCK_LEVELS + 1))
                })
                .collect(),
        }
    }

    pub fn height(&self) -> usize {
        self.height
    }

    /// The root of `2^level` zero leaves.
    pub fn zero(&self, level: usize) -> &Digest {
        &self.zeros[level]
    }

    /// The node `index` of a level from 1 to the height.
    pub fn node(&self, level: usize, index: u64) -> &Digest {
        let (tier, step) = ((level - 1) / BLOCK_LEVELS, (level - 1) % BLOCK_LEVELS);
        let bits = BLOCK_LEVELS - step;
        match self.tiers[tier].get(index >> bits) {
            Some(block) => &block[OFFSETS[step] + (index & ((1 << bits) - 1)) as usize],
            None => &self.zeros[level],
        }
    }

    pub fn root(&self) -> &Digest {
        self.node(self.height, 0)
    }

    /// Blocks that are held.
    pub fn held_blocks(&self) -> usize {
        self.tiers.iter().map(SharedArray::len).sum()
    }

    /// Bytes of a held block, with its counters and its slot.
    pub const fn block_bytes() -> usize {
        size_of::<Block>() + 3 * size_of::<usize>()
    }

    /// New digests for nodes of level 1, `changes`, which ascend strictly by index, and for the nodes above. The tree keeps its own until they are
    /// [applied](Self::apply). With `rows`, writes the rows of levels 2 to the height: both states of every parent of a changed node, whether or not
    /// its digest is another one now.
    pub fn update(
        &self,
        compressor: &Compressor,
        mut changes: Vec<Change>,
        mut rows: Option<&mut MerkleRows>,
    ) -> Update {
        debug_assert!(changes.is_sorted_by(|a, b| a.index < b.index));
        let mut tiers = Vec::with_capacity(self.tiers.len());
        for tier in 0..self.tiers.len() {
            let mut open = self.open(tier, &changes);
            let mut tasks = Vec::with_capacity(open.len().div_ceil(TASK_BLOCKS));
            for blocks in open.chunks_mut(TASK_BLOCKS) {
                let levels = std::array::from_fn(|step| {
                    let level = 2 + tier * BLOCK_LEVELS + step;
                    let rows = rows.as_deref_mut().filter(|_| level <= self.height)?;
                    Some(rows.take(level, parents(blocks, step)))
                });
                tasks.push((blocks, levels));
            }
            let zeros = self.zero_block(1 + tier * BLOCK_LEVELS);
            let run = |(blocks, levels)| {
                self.update_blocks(compressor, tier, &zeros, blocks, &changes, levels);
            };
            // Alone, a task is quicker here than by way of a pool that may be busy.
            match tasks.len() {
                0 | 1 => tasks.into_iter().for_each(run),
                _ => tasks.into_par_iter().for_each(run),
            }
            changes = open
                .iter()
                .map(|open| Change {
                    index: open.index,
                    digest: open.root,
                })
                .collect();
            tiers.push(open);
        }
        let top = OFFSETS[(self.height - 1) % BLOCK_LEVELS];
        let root = tiers.last().and_then(|open| open.first());
        Update {
            root: root.map_or(*self.root(), |open| open.block[top]),
            tiers,
        }
    }

    /// Puts new digests, which were made from this tree, in place of the old ones; a block of zeros is not kept.
    pub fn apply(&mut self, update: Update) {
        for (number, open) in update.tiers.into_iter().enumerate() {
            let zero = self.zeros[1 + number * BLOCK_LEVELS];
            let tier = &mut self.tiers[number];
            for open in open {
                if open.block[..BLOCK_NODES].iter().all(|node| *node == zero) {
                    tier.remove(open.index);
                } else if open.old.as_deref() != Some(&*open.block) {
                    tier.insert(open.index, Arc::new(*open.block));
                }
            }
        }
    }

    /// Copies of the blocks of the changed nodes.
    fn open(&self, tier: usize, changes: &[Change]) -> Vec<Open> {
        let level = 1 + tier * BLOCK_LEVELS;
        let zeros = self.zero_block(level);
        let mut open: Vec<Open> = Vec::new();
        for (i, change) in changes.iter().enumerate() {
            let index = change.index >> BLOCK_LEVELS;
            let bit = 1 << (change.index % BLOCK_NODES as u64);
            if let Some(last) = open.last_mut().filter(|last| last.index == index) {
                last.touched |= bit;
                continue;
            }
            let old_root = if level + BLOCK_LEVELS <= self.height {
                *self.node(level + BLOCK_LEVELS, index)
            } else {
                self.zeros[self.height] // this tier holds the root of the tree: not used
            };
            let old = self.tiers[tier].get(index).cloned();
            open.push(Open {
                index,
                block: Box::new(old.as_deref().copied().unwrap_or(zeros)),
                old,
                touched: bit,
                first_change: i,
                old_root,
                root: old_root,
            });
        }
        open
    }

    fn zero_block(&self, level: usize) -> Block {
        std::array::from_fn(|i| {
            let step = OFFSETS.iter().rposition(|&offset| offset <= i).unwrap_or(0);
            self.zeros[(level + step).min(self.height)]
        })
    }

    /// One task: the changes of these blocks' lowest nodes, up to the nodes above the blocks.
    fn update_blocks(
        &self,
        compressor: &Compressor,
        tier: usize,
        zeros: &Block,
        blocks: &mut [Open],
        changes: &[Change],
        mut levels: [Option<LevelRows>; BLOCK_LEVELS],
    ) {
        for open in blocks.iter_mut() {
            for (change, position) in changes[open.first_change..].iter().zip(bits(open.touched)) {
                open.block[position] = change.digest;
            }
        }
        let mut states: Vec<State> = Vec::new();
        let mut targets: Vec<(usize, usize)> = Vec::new();
        for (step, rows) in levels.iter_mut().enumerate() {
            let level = 2 + tier * BLOCK_LEVELS + step;
            if level > self.height {
                break;
            }
            states.clear();
            targets.clear();
            for (i, open) in blocks.iter().enumerate() {
                let old = open.old.as_deref().unwrap_or(zeros);
                for parent in bits(touched(open.touched, step + 1)) {
                    let left = OFFSETS[step] + 2 * parent;
                    if open.block[left..left + 2] != old[left..left + 2] {
                        states.push(state(&open.block[left], &open.block[left + 1]));
                        targets.push((i, parent));
                    }
                }
            }
            compressor.permute(&mut states);
            for (state, &(i, parent)) in states.iter().zip(&targets) {
                match OFFSETS.get(step + 1) {
                    Some(offset) => blocks[i].block[offset + parent] = digest(state),
                    None => blocks[i].root = digest(state),
                }
            }
            let Some(rows) = rows else { continue };
            for open in blocks.iter() {
                let old = open.old.as_deref().unwrap_or(zeros);
                let below = touched(open.touched, step);
                for parent in bits(touched(open.touched, step + 1)) {
                    let left = OFFSETS[step] + 2 * parent;
                    rows.push(&Parent {
                        index: (open.index << (BLOCK_LEVELS - 1 - step)) + parent as u64,
                        old: match OFFSETS.get(step + 1) {
                            Some(offset) => &old[offset + parent],
                            None => &open.old_root,
                        },
                        new: match OFFSETS.get(step + 1) {
                            Some(offset) => &open.block[offset + parent],
                            None => &open.root,
                        },
                        old_children: [&old[left], &old[left + 1]],
                        new_children: [&open.block[left], &open.block[left + 1]],
                        touched: [0, 1].map(|side| below >> (2 * parent + side) & 1 == 1),
                    });
                }
            }
        }
    }
}

/// Number of parents of the nodes of level `step` the blocks' changes touch.
fn parents(blocks: &[Open], step: usize) -> usize {
    blocks
        .iter()
        .map(|open| touched(open.touched, step + 1).count_ones() as usize)
        .sum()
}

/// Flags of the nodes `steps` levels above that have a marked one below them.
fn touched(mut mask: u8, steps: usize) -> u8 {
    for _ in 0..steps {
        mask = (0..BLOCK_NODES / 2)
            .filter(|parent| mask >> (2 * parent) & 0b11 != 0)
            .fold(0, |parents, parent| parents | 1 << parent);
    }
    mask
}

/// The positions of the set bits, ascending.
fn bits(mask: u8) -> impl Iterator<Item = usize> {
    (0..BLOCK_NODES).filter(move |bit| mask >> bit & 1 == 1)
}
