//! A copy of the guest memory that the tree stands for, page by page, without the zeros.

use std::{ops::Range, sync::Arc};

use openvm_circuit::{
    arch::{AddressSpaceHostConfig, AddressSpaceHostLayout, MemoryCellType},
    system::memory::{dimensions::MemoryDimensions, CHUNK},
};
use p3_baby_bear::BabyBear as F;
use p3_field::{PrimeCharacteristicRing, PrimeField32};
use rayon::prelude::*;

use super::{pages::populated_pages, shared_array::SharedArray};

/// Size of a page of the copy; a little less where a leaf's size does not divide it.
const PAGE_BYTES: usize = 4096;

/// The eight cells of a leaf.
pub type Cells = [F; CHUNK];

/// A leaf of zeros.
pub const ZERO_CELLS: Cells = [F::ZERO; CHUNK];

/// The bytes of one page of the copy, as guest memory holds them.
pub type Page = Arc<[u8]>;

/// One address space: its shape, and its pages that hold something else than zeros. Clones share pages that are the same in both.
#[derive(Clone, Debug)]
pub struct Space {
    layout: MemoryCellType,
    /// Bytes of a leaf.
    leaf_bytes: usize,
    page_bytes: usize,
    /// Whole leaves of this space. As in OpenVM's tree, cells behind the last one are no part of it.
    leaves: usize,
    pages: SharedArray<[u8]>,
    /// A page of zeros.
    zeros: Page,
}

impl Space {
    pub fn new(config: &AddressSpaceHostConfig, dimensions: &MemoryDimensions) -> Self {
        let leaf_bytes = CHUNK * config.layout.size();
        // At least two leaves, so that a pair of siblings lies in one page.
        let page_leaves = 1 << (PAGE_BYTES / leaf_bytes).max(2).ilog2();
        let leaves = match config.layout {
            MemoryCellType::Null => 0,
            _ => (config.num_cells / CHUNK).min(1 << dimensions.address_height),
        };
        Self {
            layout: config.layout,
            leaf_bytes,
            page_bytes: page_leaves * leaf_bytes,
            leaves,
            pages: SharedArray::new(leaves.div_ceil(page_leaves) as u64),
            zeros: vec![0; page_leaves * leaf_bytes].into(),
        }
    }

    /// Whole leaves of this space.
    pub fn leaves(&self) -> usize {
        self.leaves
    }

    /// Bytes of this space that the tree stands for.
    pub fn bytes(&self) -> usize {
        self.leaves * self.leaf_bytes
    }

    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Bytes of two sibling leaves.
    pub fn pair_bytes(&self) -> usize {
        2 * self.leaf_bytes
    }

    /// Pages of this space.
    pub fn pages(&self) -> usize {
        self.bytes().div_ceil(self.page_bytes)
    }

    /// Pages that are held.
    pub fn held_pages(&self) -> usize {
        self.pages.len()
    }

    pub fn page(&self, page: u32) -> &[u8] {
        self.pages.get(page.into()).unwrap_or(&self.zeros)
    }

    /// The page of a cell.
    pub fn page_of(&self, pointer: u32) -> u32 {
        (pointer as usize * self.layout.size() / self.page_bytes) as u32
    }

    /// A copy of page `page` of `memory`, with zeros behind the last whole leaf.
    pub fn copy_page(&self, memory: &[u8], page: u32) -> Page {
        let mut copy = memory[self.range(page)].to_vec();
        copy.resize(self.page_bytes, 0);
        copy.into()
    }

    /// Writes page `page` of the copy to `memory`.
    pub fn write_page(&self, page: u32, memory: &mut [u8]) {
        let bytes = &mut memory[self.range(page)];
        bytes.copy_from_slice(&self.page(page)[..bytes.len()]);
    }

    /// Calls `visit` with each page that this copy and `old`, a copy of the same space, do not share.
    pub fn pages_not_in(&self, old: &Self, mut visit: impl FnMut(u32)) {
        self.pages
            .differences(&old.pages, |page, _| visit(page as u32));
    }

    /// The bytes of a page in the linear memory of this space, up to the last whole leaf.
    fn range(&self, page: u32) -> Range<usize> {
        let start = page as usize * self.page_bytes;
        start..(start + self.page_bytes).min(self.bytes())
    }

    /// Sets a page; one of zeros is not kept.
    pub fn set_page(&mut self, page: u32, bytes: Page) {
        if bytes == self.zeros {
            self.pages.remove(page.into());
        } else {
            self.pages.insert(page.into(), bytes);
        }
    }

    /// The pages in which `memory` differs from this copy, ascending. `memory` is the linear memory
    /// of this space.
    pub fn differing_pages(&self, memory: &[u8]) -> Vec<u32> {
        let memory = &memory[..self.bytes()];
        let mut pages = populated_pages(memory, self.page_bytes);
        let held = self.pages.indices().into_iter().map(|page| page as u32);
        let gone = held.filter(|page| pages.binary_search(page).is_err());
        let gone: Vec<u32> = gone.collect();
        if !gone.is_empty() {
            pages.extend(gone);
            pages.sort_unstable();
        }
        pages
            .into_par_iter()
            .filter(|&page| {
                let bytes = &memory[self.range(page)];
                bytes != &self.page(page)[..bytes.len()]
            })
            .collect()
    }

    /// The cells of leaf `label`. Panics if the space has no such leaf.
    pub fn cells(&self, label: u32) -> Cells {
        let (page, range) = self.place(label);
        self.decode(&self.page(page)[range])
    }

    /// Sets the cells of leaf `label`. Panics if the space has no such leaf.
    pub fn set_cells(&mut self, label: u32, cells: &Cells) {
        let (page, range) = self.place(label);
        let size = self.layout.size();
        let page = self.pages.entry(page.into(), || self.zeros.clone());
        let page = &mut Arc::make_mut(page)[range];
        for (bytes, &cell) in page.chunks_exact_mut(size).zip(cells) {
            encode(self.layout, cell, bytes);
        }
    }

    /// The cells in the bytes of a leaf.
    pub fn decode(&self, bytes: &[u8]) -> Cells {
        let size = self.layout.size();
        std::array::from_fn(|i| decode(self.layout, &bytes[i * size..(i + 1) * size]))
    }

    fn place(&self, label: u32) -> (u32, Range<usize>) {
        assert!(
            (label as usize) < self.leaves,
            "leaf {label} of an address space of {} leaves",
            self.leaves
        );
        let leaves = self.page_bytes / self.leaf_bytes;
        let start = label as usize % leaves * self.leaf_bytes;
        (
            (label as usize / leaves) as u32,
            start..start + self.leaf_bytes,
        )
    }
}

/// The field element in the bytes of one cell, as `AddressSpaceHostLayout::to_field` reads it.
fn decode(layout: MemoryCellType, bytes: &[u8]) -> F {
    match layout {
        MemoryCellType::Null => unreachable!("a space of null cells has no leaves"),
        MemoryCellType::U8 => F::from_u8(bytes[0]),
        MemoryCellType::U16 => F::from_u16(u16::from_ne_bytes([bytes[0], bytes[1]])),
        MemoryCellType::U32 => {
            F::from_u32(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
        }
        MemoryCellType::F { .. } => {
            assert!(
                bytes.len() >= size_of::<F>(),
                "a cell of a field element has its size"
            );
            // SAFETY: the cell has at least the size of F by the assertion, and guest memory holds
            // cells of this layout as F in memory (a transparent u32); no alignment is asked for.
            unsafe { bytes.as_ptr().cast::<F>().read_unaligned() }
        }
    }
}

/// Writes a cell so that [`decode`] gives it back; bytes behind the value become zero.
fn encode(layout: MemoryCellType, cell: F, bytes: &mut [u8]) {
    let value = cell.as_canonical_u32();
    match layout {
        MemoryCellType::Null => unreachable!("a space of null cells has no leaves"),
        MemoryCellType::U8 => bytes[0] = value as u8,
        MemoryCellType::U16 => bytes.copy_from_slice(&(value as u16).to_ne_bytes()),
        MemoryCellType::U32 => bytes.copy_from_slice(&value.to_ne_bytes()),
        MemoryCellType::F { .. } => {
            let (used, rest) = bytes.split_at_mut(size_of::<F>());
            rest.fill(0);
            // SAFETY: `used` has the size of F by the split, and no alignment is asked for.
            unsafe { used.as_mut_ptr().cast::<F>().write_unaligned(cell) }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    /// A field element is read from memory without a check of its own.
    #[test]
    fn a_cell_of_a_field_element_has_its_size() {
        let layout = MemoryCellType::F { size: 4 };
        let mut bytes = [0xff; 6];
        encode(layout, F::from_u32(77), &mut bytes);
        assert_eq!(decode(layout, &bytes), F::from_u32(77));
        assert_eq!(bytes[4..], [0, 0]);
        for short in 0..size_of::<F>() {
            assert!(catch_unwind(|| decode(layout, &[0; 8][..short])).is_err());
            let mut bytes = vec![0; short];
            assert!(catch_unwind(move || encode(layout, F::ONE, &mut bytes)).is_err());
        }
    }
}
