//! Rows of the Merkle AIR: two for every touched parent, before and after the segment.

use std::borrow::BorrowMut;

use openvm_circuit::system::memory::{
    dimensions::MemoryDimensions, merkle::MemoryMerkleCols, CHUNK,
};
use p3_baby_bear::BabyBear as F;
use p3_field::{Field, PrimeCharacteristicRing};

use super::hash::Digest;

/// Columns of the Merkle AIR.
pub const MERKLE_WIDTH: usize = MemoryMerkleCols::<u8, CHUNK>::width();

/// A node with a touched leaf below it.
pub struct Parent<'a> {
    /// The index in its level.
    pub index: u64,
    pub old: &'a Digest,
    pub new: &'a Digest,
    pub old_children: [&'a Digest; 2],
    pub new_children: [&'a Digest; 2],
    /// Flags of the children that have a touched leaf below them, or are one.
    pub touched: [bool; 2],
}

/// The rows of a Merkle trace, to be written level by level in any order.
///
/// The trace descends by level from the root, within a level by index, and has the row after the
/// segment before the row before it; only at the root the row before the segment comes first.
pub struct MerkleRows<'a> {
    dimensions: MemoryDimensions,
    /// The rows of level `i + 1` that are not taken yet.
    levels: Vec<&'a mut [F]>,
}

/// Rows of consecutive touched parents of one level.
pub struct LevelRows<'a> {
    /// Rows of the parents that are not written yet; the next parent's are the last two.
    rows: &'a mut [F],
    level: usize,
    level_inverse: F,
    dimensions: MemoryDimensions,
}

impl<'a> MerkleRows<'a> {
    /// The rows of a trace with `parents[i]` touched parents in level `i + 1`; `trace` has two
    /// rows for each.
    pub fn new(dimensions: MemoryDimensions, mut trace: &'a mut [F], parents: &[usize]) -> Self {
        assert_eq!(parents.len(), dimensions.overall_height());
        let mut levels = Vec::with_capacity(parents.len());
        for parents in parents {
            let above = trace.len() - 2 * parents * MERKLE_WIDTH;
            let (rest, level) = trace.split_at_mut(above);
            levels.push(level);
            trace = rest;
        }
        assert!(trace.is_empty(), "rows of no level");
        Self { dimensions, levels }
    }

    /// The rows of the next `parents` touched parents of a level, in ascending order.
    pub fn take(&mut self, level: usize, parents: usize) -> LevelRows<'a> {
        let rest = std::mem::take(&mut self.levels[level - 1]);
        let (rest, rows) = rest.split_at_mut(rest.len() - 2 * parents * MERKLE_WIDTH);
        self.levels[level - 1] = rest;
        LevelRows {
            rows,
            level,
            level_inverse: F::from_usize(level).inverse(),
            dimensions: self.dimensions,
        }
    }
}

impl LevelRows<'_> {
    /// Writes both rows of the next parent.
    pub fn push(&mut self, parent: &Parent) {
        let rows = std::mem::take(&mut self.rows);
        let (rest, pair) = rows.split_at_mut(rows.len() - 2 * MERKLE_WIDTH);
        self.rows = rest;
        let (first, second) = pair.split_at_mut(MERKLE_WIDTH);
        let root = self.level == self.dimensions.overall_height();
        let (before, after) = if root {
            (first, second)
        } else {
            (second, first)
        };
        let before: &mut MemoryMerkleCols<F, CHUNK> = before.borrow_mut();
        *before = self.row(parent.index, F::ONE, parent.old, parent.old_children);
        let after: &mut MemoryMerkleCols<F, CHUNK> = after.borrow_mut();
        *after = self.row(parent.index, F::NEG_ONE, parent.new, parent.new_children);
        after.left_direction_different = F::from_bool(!parent.touched[0]);
        after.right_direction_different = F::from_bool(!parent.touched[1]);
    }

    fn row(
        &self,
        index: u64,
        direction: F,
        hash: &Digest,
        [left, right]: [&Digest; 2],
    ) -> MemoryMerkleCols<F, CHUNK> {
        // Bits of the index that belong to the address; those above are of the address space.
        let address_bits = self.dimensions.address_height.saturating_sub(self.level);
        MemoryMerkleCols {
            expand_direction: direction,
            height_section: F::from_bool(self.level > self.dimensions.address_height),
            parent_height: F::from_usize(self.level),
            parent_height_inv: self.level_inverse,
            is_root: F::from_bool(self.level == self.dimensions.overall_height()),
            parent_as_label: F::from_u64(index >> address_bits),
            parent_address_label: F::from_u64(index & ((1 << address_bits) - 1)),
            parent_hash: *hash,
            left_child_hash: *left,
            right_child_hash: *right,
            left_direction_different: F::ZERO,
            right_direction_different: F::ZERO,
        }
    }
}

/// Marks both children of the only parent in level 1 as untouched: the path of a leaf is in the
/// trace, but no leaf was touched. `trace` has no padding.
pub fn mark_leaves_untouched(trace: &mut [F]) {
    let after = trace.len() - 2 * MERKLE_WIDTH;
    let after: &mut MemoryMerkleCols<F, CHUNK> = trace[after..after + MERKLE_WIDTH].borrow_mut();
    after.left_direction_different = F::ONE;
    after.right_direction_different = F::ONE;
}

/// The touched parents of every level from 1 to `height`, for touched leaves of these indices,
/// which ascend strictly. At least one leaf is touched.
pub fn touched_parents(leaves: impl Iterator<Item = u64>, height: usize) -> Vec<usize> {
    // A neighbour that differs first in bit `b` adds a parent to the levels up to `b`.
    let mut parents = vec![1; height + 1];
    let mut meets = vec![0; height + 1];
    let mut last = None;
    for leaf in leaves {
        if let Some(last) = last.replace(leaf) {
            meets[u64::ilog2(last ^ leaf) as usize] += 1;
        }
    }
    let mut above = 0;
    for level in (1..=height).rev() {
        above += meets[level];
        parents[level] += above;
    }
    parents.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::touched_parents;

    #[test]
    fn parents_are_counted_level_by_level() {
        let leaves = [0u64, 1, 2, 5, 8, 9, 31];
        for level in 1..=5 {
            let mut above: Vec<u64> = leaves.iter().map(|leaf| leaf >> level).collect();
            above.dedup();
            assert_eq!(
                touched_parents(leaves.into_iter(), 5)[level - 1],
                above.len()
            );
        }
        assert_eq!(touched_parents([7].into_iter(), 3), [1, 1, 1]);
    }
}
