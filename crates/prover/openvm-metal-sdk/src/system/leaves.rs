//! The lowest two levels: digests of touched leaves and of their siblings, and level 1.

use rayon::prelude::*;

use p3_baby_bear::BabyBear as F;

use super::{
    boundary_rows::{write_boundary_rows, BOUNDARY_WIDTH},
    hash::{digest, state, Compressor, Digest, State},
    image::{Space, ZERO_CELLS},
    merkle_rows::{LevelRows, MerkleRows, Parent},
    touched::TouchedLeaf,
    tree::{Change, SparseMerkleTree},
};

/// Touched leaves that one task hashes.
const TASK_LEAVES: usize = 256;

/// Hashes leaves of the memory before a segment and after it. The tree is the one before.
pub struct LeafHasher<'a> {
    pub compressor: &'a Compressor,
    /// By address space.
    pub spaces: &'a [Space],
    pub tree: &'a SparseMerkleTree,
}

/// Both children of a touched node of level 1.
struct Pair {
    index: u64,
    old: [Digest; 2],
    new: [Digest; 2],
    touched: [bool; 2],
}

impl LeafHasher<'_> {
    /// Writes the boundary rows of touched leaves, if there are any, and the rows of level 1.
    /// Returns the digests of level 1.
    pub fn write(
        &self,
        leaves: &[TouchedLeaf],
        mut boundary: &mut [F],
        rows: &mut MerkleRows,
    ) -> Vec<Change> {
        let mut tasks = Vec::new();
        for leaves in whole_pairs(leaves) {
            let parents = leaves.chunk_by(|a, b| a.index ^ 1 == b.index).count();
            let own = boundary.len().min(2 * leaves.len() * BOUNDARY_WIDTH);
            let (own, rest) = boundary.split_at_mut(own);
            boundary = rest;
            tasks.push((leaves, own, rows.take(1, parents)));
        }
        let changes: Vec<Vec<Change>> = tasks
            .into_par_iter()
            .map(|(leaves, boundary, rows)| self.write_task(leaves, boundary, rows))
            .collect();
        changes.concat()
    }

    fn write_task(
        &self,
        leaves: &[TouchedLeaf],
        boundary: &mut [F],
        mut rows: LevelRows,
    ) -> Vec<Change> {
        let digests = self.leaf_digests(leaves);
        for ((rows, leaf), [old, new]) in boundary
            .chunks_exact_mut(2 * BOUNDARY_WIDTH)
            .zip(leaves)
            .zip(&digests)
        {
            write_boundary_rows(rows, leaf, old, new);
        }

        let mut pairs: Vec<Pair> = Vec::with_capacity(leaves.len());
        for (leaf, [old, new]) in leaves.iter().zip(&digests) {
            let index = leaf.index / 2;
            if pairs.last().is_none_or(|last| last.index != index) {
                let zero = *self.tree.zero(0);
                pairs.push(Pair {
                    index,
                    old: [zero; 2],
                    new: [zero; 2],
                    touched: [false; 2],
                });
            }
            let pair = pairs.last_mut().expect("pushed above");
            let side = (leaf.index % 2) as usize;
            (pair.old[side], pair.new[side], pair.touched[side]) = (*old, *new, true);
        }
        self.hash_siblings(leaves, |sibling, digest| {
            let at = pairs.binary_search_by_key(&(sibling / 2), |pair| pair.index);
            let pair = &mut pairs[at.expect("the parent of a touched leaf")];
            let side = (sibling % 2) as usize;
            (pair.old[side], pair.new[side]) = (digest, digest);
        });

        let changed = |pair: &&Pair| pair.old != pair.new;
        let mut states: Vec<State> = pairs
            .iter()
            .filter(changed)
            .map(|pair| state(&pair.new[0], &pair.new[1]))
            .collect();
        self.compressor.permute(&mut states);
        let mut states = states.iter();
        pairs
            .iter()
            .map(|pair| {
                let old = self.tree.node(1, pair.index);
                let new = match changed(&pair) {
                    true => digest(states.next().expect("a state for every changed pair")),
                    false => *old,
                };
                rows.push(&Parent {
                    index: pair.index,
                    old,
                    new: &new,
                    old_children: [&pair.old[0], &pair.old[1]],
                    new_children: [&pair.new[0], &pair.new[1]],
                    touched: pair.touched,
                });
                Change {
                    index: pair.index,
                    digest: new,
                }
            })
            .collect()
    }

    /// The digests of touched leaves before and after.
    fn leaf_digests(&self, leaves: &[TouchedLeaf]) -> Vec<[Digest; 2]> {
        let mut states: Vec<State> = Vec::with_capacity(leaves.len());
        let mut targets: Vec<(usize, usize)> = Vec::with_capacity(leaves.len());
        for (i, leaf) in leaves.iter().enumerate() {
            if leaf.old != ZERO_CELLS {
                states.push(state(&leaf.old, &ZERO_CELLS));
                targets.push((i, 0));
            }
            if leaf.new != leaf.old && leaf.new != ZERO_CELLS {
                states.push(state(&leaf.new, &ZERO_CELLS));
                targets.push((i, 1));
            }
        }
        self.compressor.permute(&mut states);
        let mut digests = vec![[*self.tree.zero(0); 2]; leaves.len()];
        for (state, (i, side)) in states.iter().zip(targets) {
            digests[i][side] = digest(state);
        }
        for (leaf, digests) in leaves.iter().zip(&mut digests) {
            if leaf.new == leaf.old {
                digests[1] = digests[0];
            }
        }
        digests
    }

    /// Calls `visit` with the index and digest of every sibling of a touched leaf that is neither
    /// touched nor zero.
    fn hash_siblings(&self, leaves: &[TouchedLeaf], mut visit: impl FnMut(u64, Digest)) {
        let mut states: Vec<State> = Vec::new();
        let mut indices: Vec<u64> = Vec::new();
        for pair in leaves.chunk_by(|a, b| a.index ^ 1 == b.index) {
            let [leaf] = pair else { continue };
            let space = &self.spaces[leaf.address_space as usize];
            let label = leaf.label ^ 1;
            if (label as usize) < space.leaves() {
                let cells = space.cells(label);
                if cells != ZERO_CELLS {
                    states.push(state(&cells, &ZERO_CELLS));
                    indices.push(leaf.index ^ 1);
                }
            }
        }
        self.compressor.permute(&mut states);
        for (index, state) in indices.into_iter().zip(&states) {
            visit(index, digest(state));
        }
    }
}

/// Parts of about [`TASK_LEAVES`] leaves; siblings stay together.
fn whole_pairs(mut leaves: &[TouchedLeaf]) -> Vec<&[TouchedLeaf]> {
    let mut parts = Vec::with_capacity(leaves.len().div_ceil(TASK_LEAVES));
    while !leaves.is_empty() {
        let mut length = TASK_LEAVES.min(leaves.len());
        if length < leaves.len() && leaves[length - 1].index ^ 1 == leaves[length].index {
            length += 1;
        }
        let (part, rest) = leaves.split_at(length);
        parts.push(part);
        leaves = rest;
    }
    parts
}
