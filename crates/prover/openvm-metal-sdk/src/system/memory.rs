//! The Merkle tree of guest memory, kept from segment to segment.

use std::{collections::BTreeMap, ops::Range};

use openvm_circuit::{
    arch::{hasher::Hasher, MemoryConfig, ADDR_SPACE_OFFSET},
    system::{
        memory::{dimensions::MemoryDimensions, online::LinearMemory, AddressMap},
        TouchedMemory,
    },
};
use p3_baby_bear::BabyBear as F;
use p3_field::PrimeCharacteristicRing;

use super::{
    boundary_rows::BOUNDARY_WIDTH,
    hash::{digest, state, Compressor, Digest, State},
    image::{Page, Space, ZERO_CELLS},
    leaves::LeafHasher,
    merkle_rows::{mark_leaves_untouched, touched_parents, MerkleRows, MERKLE_WIDTH},
    touched::{touched_leaves, TouchedLeaf},
    tree::{Change, SparseMerkleTree, Update},
};

/// Pages that one step of [`MemoryTree::set_pages`] takes over: this bounds what it allocates, 64 MiB if every leaf of them changed.
const STEP_PAGES: usize = 1024;

/// A copy of guest memory and the tree of its digests.
///
/// A leaf is eight cells, its digest their compression with eight zeros. The tree of each address
/// space has `2^address_height` leaves, and `2^addr_space_height` such trees lie side by side,
/// from address space 1 on. What is zero is neither held nor hashed.
///
/// A clone takes constant time, and shares with the original all pages and digests that change in neither.
#[derive(Clone, Debug)]
pub struct MemoryTree {
    dimensions: MemoryDimensions,
    compressor: Compressor,
    /// By address space.
    spaces: Vec<Space>,
    tree: SparseMerkleTree,
}

/// Copies of pages of guest memory, by address space, with their numbers, which ascend.
#[derive(Clone, Debug)]
pub struct MemoryPages(Vec<(u32, Vec<(u32, Page)>)>);

/// Heights that the traces must have, as powers of two or rounded up to one; the least possible
/// ones if `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct TraceHeights {
    pub boundary: Option<usize>,
    pub merkle: Option<usize>,
}

/// Traces that a segment adds to the memory argument. Traces are row-major and padded with zero rows.
#[derive(Clone, Debug)]
pub struct MemoryTraces {
    pub boundary: Vec<F>,
    /// Rows of the boundary trace that are no padding: two for every touched leaf.
    pub boundary_rows: usize,
    pub merkle: Vec<F>,
    /// Rows of the Merkle trace that are no padding: two for every parent of a touched leaf.
    pub merkle_rows: usize,
    pub initial_root: Digest,
    pub final_root: Digest,
}

/// Memory that the tree holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldMemory {
    /// Bytes of copied guest memory.
    pub pages: usize,
    /// Bytes of digests.
    pub digests: usize,
}

/// Digests around one address space of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceDigests {
    /// The root of the address space.
    pub root: Digest,
    /// Digests on the path from its second leaf to the root of the tree, from below, without both ends.
    pub path: Vec<Digest>,
    /// Digests beside the path: that of the first leaf, then one for each level.
    pub beside: Vec<Digest>,
}

/// Errors of an initial memory image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InitialMemoryError {
    #[error(
        "initial memory: byte {offset} of address space {address_space} is outside the {bytes} \
         bytes that the VM configuration gives that address space; use the configuration that the \
         program was built for"
    )]
    OutOfBounds {
        address_space: u32,
        offset: u32,
        bytes: usize,
    },
}

impl MemoryTree {
    /// The tree of a memory of zeros.
    pub fn new(config: &MemoryConfig) -> Self {
        let dimensions = config.memory_dimensions();
        let compressor = Compressor::new();
        let spaces = config
            .addr_spaces
            .iter()
            .map(|space| Space::new(space, &dimensions))
            .collect();
        let tree = SparseMerkleTree::new(dimensions.overall_height(), &compressor);
        Self {
            dimensions,
            compressor,
            spaces,
            tree,
        }
    }

    /// The tree of an executable's initial memory: `(address space, byte)` to value.
    pub fn from_initial_memory(
        config: &MemoryConfig,
        image: &BTreeMap<(u32, u32), u8>,
    ) -> Result<Self, InitialMemoryError> {
        let mut tree = Self::new(config);
        let mut pages: BTreeMap<(u32, u32), Vec<u8>> = BTreeMap::new();
        for (&(address_space, offset), &value) in image {
            let bytes = config.addr_spaces.get(address_space as usize);
            let bytes = bytes.map_or(0, |space| space.size());
            if offset as usize >= bytes {
                return Err(InitialMemoryError::OutOfBounds {
                    address_space,
                    offset,
                    bytes,
                });
            }
            let space = &tree.spaces[address_space as usize];
            if offset as usize >= space.bytes() {
                continue; // a cell behind the last whole leaf
            }
            let page = offset / space.page_bytes() as u32;
            let bytes = pages
                .entry((address_space, page))
                .or_insert_with(|| space.page(page).into());
            bytes[offset as usize % space.page_bytes()] = value;
        }
        let mut by_space: BTreeMap<u32, Vec<(u32, Page)>> = BTreeMap::new();
        for ((address_space, page), bytes) in pages {
            by_space
                .entry(address_space)
                .or_default()
                .push((page, bytes.into()));
        }
        for (address_space, mut pages) in by_space {
            while !pages.is_empty() {
                let rest = pages.split_off(pages.len().min(STEP_PAGES));
                tree.set_pages(address_space, pages);
                pages = rest;
            }
        }
        Ok(tree)
    }

    pub fn root(&self) -> &Digest {
        self.tree.root()
    }

    pub fn held(&self) -> HeldMemory {
        let pages = |space: &Space| space.held_pages() * space.page_bytes();
        HeldMemory {
            pages: self.spaces.iter().map(pages).sum(),
            digests: self.tree.held_blocks() * SparseMerkleTree::block_bytes(),
        }
    }

    /// The highest `addr_space_height + 1` levels, the root first: the roots of the address spaces
    /// are the last level.
    pub fn top(&self) -> Vec<Digest> {
        let height = self.tree.height();
        (0..=self.dimensions.addr_space_height)
            .flat_map(|depth| (0..1 << depth).map(move |index| (height - depth, index)))
            .map(|(level, index)| *self.tree.node(level, index))
            .collect()
    }

    /// The digests around an address space; nothing if the memory has no such space.
    pub fn space_digests(&self, address_space: u32) -> Option<SpaceDigests> {
        let space = self.spaces.get(address_space as usize)?;
        let cells = match space.leaves() {
            0 => ZERO_CELLS,
            _ => space.cells(0),
        };
        let leaf = self.compressor.compress(&cells, &ZERO_CELLS);
        let first = self.dimensions.label_to_index((address_space, 0));
        let node = |level: usize, index: u64| *self.tree.node(level, index);
        let levels = || 1..self.tree.height();
        let above = levels().map(|level| node(level, (first >> level) ^ 1));
        let height = self.dimensions.address_height;
        Some(SpaceDigests {
            root: match height {
                0 => leaf,
                _ => node(height, first >> height),
            },
            path: levels().map(|level| node(level, first >> level)).collect(),
            beside: std::iter::once(leaf).chain(above).collect(),
        })
    }

    /// Makes this the tree of `memory`: pages that differ from the copy are hashed, whatever
    /// memory the copy was of. `memory` has the address spaces of this tree's configuration.
    pub fn synchronize(&mut self, memory: &AddressMap) {
        for (address_space, pages) in self.differing(memory) {
            for pages in pages.chunks(STEP_PAGES) {
                let copies = self.copy(memory, address_space, pages.iter().copied());
                self.set_pages(address_space, copies);
            }
        }
    }

    /// Copies of the pages of `memory` that differ from this tree's.
    pub fn differing_pages(&self, memory: &AddressMap) -> MemoryPages {
        let spaces = self.differing(memory).into_iter();
        MemoryPages(
            spaces
                .map(|(space, pages)| (space, self.copy(memory, space, pages.into_iter())))
                .collect(),
        )
    }

    /// Copies of the pages of `memory` that have any of these cells, which are given by address space. `memory` has the address spaces of this
    /// tree's configuration.
    pub fn copies(
        &self,
        memory: &AddressMap,
        cells: impl Iterator<Item = (u32, Range<u32>)>,
    ) -> MemoryPages {
        let mut pages: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (address_space, cells) in cells {
            let space = &self.spaces[address_space as usize];
            let range = space.page_of(cells.start)..=space.page_of(cells.end - 1);
            let range = range.filter(|&page| (page as usize) < space.pages());
            pages.entry(address_space).or_default().extend(range);
        }
        let copies = pages.into_iter().map(|(space, mut pages)| {
            pages.sort_unstable();
            pages.dedup();
            (space, self.copy(memory, space, pages.into_iter()))
        });
        MemoryPages(copies.collect())
    }

    /// Puts pages in place of this tree's.
    pub fn replace(&mut self, pages: MemoryPages) {
        for (address_space, mut pages) in pages.0 {
            let space = &self.spaces[address_space as usize];
            pages.retain(|(page, bytes)| **bytes != *space.page(*page));
            while !pages.is_empty() {
                let rest = pages.split_off(pages.len().min(STEP_PAGES));
                self.set_pages(address_space, pages);
                pages = rest;
            }
        }
    }

    /// The numbers of the pages in which `memory` differs, by address space.
    fn differing(&self, memory: &AddressMap) -> Vec<(u32, Vec<u32>)> {
        assert_eq!(memory.mem.len(), self.spaces.len(), "address spaces");
        let spaces = self.spaces.iter().zip(&memory.mem).enumerate();
        spaces
            .map(|(number, (space, memory))| {
                (number as u32, space.differing_pages(memory.as_slice()))
            })
            .collect()
    }

    fn copy(
        &self,
        memory: &AddressMap,
        address_space: u32,
        pages: impl Iterator<Item = u32>,
    ) -> Vec<(u32, Page)> {
        let space = &self.spaces[address_space as usize];
        let memory = memory.mem[address_space as usize].as_slice();
        pages
            .map(|page| (page, space.copy_page(memory, page)))
            .collect()
    }

    /// Pages of the copy that hold these blocks, as `(address space, page)`, ascending.
    pub fn pages_of(&self, touched: &TouchedMemory<F>) -> Vec<(u32, u32)> {
        let page =
            |(space, pointer): (u32, u32)| (space, self.spaces[space as usize].page_of(pointer));
        let mut pages: Vec<_> = touched.iter().map(|(address, _)| page(*address)).collect();
        pages.dedup();
        pages
    }

    /// Makes `memory` that of this tree. It is the memory of `from`, a tree of the same configuration, but for the pages `stale`; what both trees
    /// share is left alone.
    pub fn write_to(&self, memory: &mut AddressMap, from: &Self, stale: &[(u32, u32)]) {
        let spaces = self.spaces.iter().zip(&from.spaces);
        for ((space, old), memory) in spaces.zip(&mut memory.mem) {
            let memory = memory.as_mut_slice();
            space.pages_not_in(old, |page| space.write_page(page, memory));
        }
        for &(space, page) in stale {
            let memory = memory.mem[space as usize].as_mut_slice();
            self.spaces[space as usize].write_page(page, memory);
        }
    }

    /// Replaces pages of the copy, ascending, and updates the tree.
    fn set_pages(&mut self, address_space: u32, pages: Vec<(u32, Page)>) {
        let space = &self.spaces[address_space as usize];
        let pair_bytes = space.pair_bytes();
        let page_pairs = space.page_bytes() / pair_bytes;
        let mut nodes: Vec<u64> = Vec::new();
        let mut leaves: Vec<State> = Vec::new();
        for (page, bytes) in &pages {
            let pairs = bytes
                .chunks_exact(pair_bytes)
                .zip(space.page(*page).chunks_exact(pair_bytes));
            for (i, (new, _)) in pairs.enumerate().filter(|(_, (new, old))| new != old) {
                let label = 2 * (*page as usize * page_pairs + i) as u32;
                nodes.push(self.dimensions.label_to_index((address_space, label)) / 2);
                for leaf in new.chunks_exact(pair_bytes / 2) {
                    leaves.push(state(&space.decode(leaf), &ZERO_CELLS));
                }
            }
        }
        let compressor = &self.compressor;
        compressor.permute_parallel(&mut leaves);
        let mut parents: Vec<State> = leaves
            .chunks_exact(2)
            .map(|pair| state(&digest(&pair[0]), &digest(&pair[1])))
            .collect();
        compressor.permute_parallel(&mut parents);
        let changes = nodes
            .iter()
            .zip(&parents)
            .map(|(&index, parent)| Change {
                index,
                digest: digest(parent),
            })
            .collect();
        let update = self.tree.update(compressor, changes, None);
        self.tree.apply(update);
        let space = &mut self.spaces[address_space as usize];
        for (page, bytes) in pages {
            space.set_page(page, bytes);
        }
    }

    /// Advances to the memory after a segment: `touched` are the blocks that it accessed, with
    /// their last values. Returns the segment's traces.
    ///
    /// Panics if a block lies behind the last whole leaf of its address space, or if `heights` are
    /// below the rows needed.
    pub fn advance(&mut self, touched: TouchedMemory<F>, heights: TraceHeights) -> MemoryTraces {
        let (traces, leaves, update) = self.segment(touched, heights);
        self.tree.apply(update);
        for leaf in leaves.iter().filter(|leaf| leaf.new != leaf.old) {
            self.spaces[leaf.address_space as usize].set_cells(leaf.label, &leaf.new);
        }
        traces
    }

    /// The traces of [`advance`](Self::advance); this tree stays before the segment.
    pub fn traces(&self, touched: TouchedMemory<F>, heights: TraceHeights) -> MemoryTraces {
        self.segment(touched, heights).0
    }

    /// The traces of a segment, its leaves and the new digests.
    fn segment(
        &self,
        touched: TouchedMemory<F>,
        heights: TraceHeights,
    ) -> (MemoryTraces, Vec<TouchedLeaf>, Update) {
        let mut leaves = touched_leaves(&self.spaces, &self.dimensions, touched);
        let boundary_rows = 2 * leaves.len();
        let mut boundary = zero_rows("boundary", boundary_rows, BOUNDARY_WIDTH, heights.boundary);
        let none_touched = leaves.is_empty();
        if none_touched {
            // The AIR wants the path of one leaf, without a boundary row.
            leaves.push(self.first_leaf());
        }
        let height = self.tree.height();
        let parents = touched_parents(leaves.iter().map(|leaf| leaf.index), height);
        let merkle_rows = 2 * parents.iter().sum::<usize>();
        let mut merkle = zero_rows("Merkle", merkle_rows, MERKLE_WIDTH, heights.merkle);
        let initial_root = *self.root();

        let used = &mut merkle[..merkle_rows * MERKLE_WIDTH];
        let mut rows = MerkleRows::new(self.dimensions, used, &parents);
        let boundary_used = &mut boundary[..boundary_rows * BOUNDARY_WIDTH];
        let changes = LeafHasher {
            compressor: &self.compressor,
            spaces: &self.spaces,
            tree: &self.tree,
        }
        .write(&leaves, boundary_used, &mut rows);
        let update = self.tree.update(&self.compressor, changes, Some(&mut rows));
        if none_touched {
            mark_leaves_untouched(used);
        }
        let traces = MemoryTraces {
            boundary,
            boundary_rows,
            merkle,
            merkle_rows,
            initial_root,
            final_root: *update.root(),
        };
        (traces, leaves, update)
    }

    /// The first leaf of the tree, as if it were touched.
    fn first_leaf(&self) -> TouchedLeaf {
        let first = &self.spaces[ADDR_SPACE_OFFSET as usize];
        let cells = if first.leaves() > 0 {
            first.cells(0)
        } else {
            ZERO_CELLS
        };
        TouchedLeaf {
            address_space: ADDR_SPACE_OFFSET,
            label: 0,
            index: 0,
            timestamps: Default::default(),
            old: cells,
            new: cells,
        }
    }
}

/// Zeros for a trace of at least `rows` rows.
fn zero_rows(trace: &str, rows: usize, width: usize, height: Option<usize>) -> Vec<F> {
    let least = rows.next_power_of_two();
    let height = height.map_or(least, usize::next_power_of_two);
    assert!(
        height >= least,
        "the {trace} trace needs {least} rows, which is more than the {height} asked for"
    );
    F::zero_vec(height * width)
}
