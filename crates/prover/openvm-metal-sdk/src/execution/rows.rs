//! `Rows`: the rows that an execution adds to each trace of a segment, and the pages of memory that it touches.

use std::ops::Range;

use openvm_circuit::{
    arch::{
        ExecutionCtxTrait, MemoryConfig, MeteredExecutionCtxTrait, VmExecState, ADDR_SPACE_OFFSET,
        BOUNDARY_AIR_ID, MERKLE_AIR_ID,
    },
    system::memory::{online::GuestMemory, CHUNK},
};

/// Address space of registers. Their accesses are counted once for each segment.
const REGISTERS: u32 = 1;

/// Leaves of the memory's Merkle tree in a page, as a power of two.
const PAGE_BITS: u32 = 6;

/// Cells of a page.
pub(super) const PAGE_CELLS: u32 = (CHUNK as u32) << PAGE_BITS;

/// Heights of the traces of one segment so far: upper bounds, which equal those of OpenVM's metered execution.
///
/// OpenVM's executors report rows and accesses to it.
pub struct Rows {
    /// Heights by AIR, without the rows of memory.
    heights: Vec<u32>,
    /// Heights by AIR at the start of a segment.
    first: Vec<u32>,
    memory: MemoryRows,
    /// Weight of what OpenVM's executors reported since it was taken, see [`take_weight`](Self::take_weight).
    weight: u64,
}

/// Weight of a page that is touched for the first time.
const PAGE_WEIGHT: u64 = 32;

/// Rows for the memory that a segment touches.
struct MemoryRows {
    /// Levels of the tree of one address space.
    address_height: u32,
    /// A bit for each page.
    bits: Vec<u64>,
    /// Pages whose bits are set, in the order of their first access.
    touched: Vec<u32>,
    /// Index of the AIR of the compressions.
    poseidon2: usize,
    /// Parents of leaves, and of these, that each page adds.
    parents: u32,
}

impl MemoryRows {
    fn new(config: &MemoryConfig, airs: usize) -> Self {
        let dimensions = config.memory_dimensions();
        let height = dimensions.overall_height() as u32;
        let pages = 1usize << height.saturating_sub(PAGE_BITS);
        Self {
            address_height: dimensions.address_height as u32,
            bits: vec![0; pages.div_ceil(64)],
            touched: Vec::new(),
            poseidon2: airs.saturating_sub(2),
            parents: (1 << PAGE_BITS) - 1 + height.saturating_sub(PAGE_BITS),
        }
    }

    /// The page of a cell. The trees of address spaces lie side by side.
    #[inline(always)]
    fn page(&self, address_space: u32, pointer: u32) -> u32 {
        let tree = u64::from(address_space - ADDR_SPACE_OFFSET) << self.address_height;
        ((tree + u64::from(pointer / CHUNK as u32)) >> PAGE_BITS) as u32
    }

    /// Marks a page as touched. True if it was not.
    #[inline(always)]
    fn touch(&mut self, page: u32) -> bool {
        let (word, bit) = (&mut self.bits[page as usize / 64], 1 << (page % 64));
        if *word & bit != 0 {
            return false;
        }
        *word |= bit;
        self.touched.push(page);
        true
    }

    fn restart(&mut self) {
        for page in self.touched.drain(..) {
            self.bits[page as usize / 64] = 0;
        }
        let registers = self.page(REGISTERS, 0);
        self.touch(registers);
    }

    /// Adds the rows of the touched pages: both states of every leaf in them and of every node above, ancestors that pages share count once for each page.
    fn add_to(&self, heights: &mut [u32]) {
        let pages = self.touched.len() as u32;
        let (leaves, parents) = (2 * (pages << PAGE_BITS), 2 * pages * self.parents);
        heights[BOUNDARY_AIR_ID] += leaves;
        heights[MERKLE_AIR_ID] += parents;
        heights[self.poseidon2] += leaves + parents;
    }
}

impl Rows {
    /// Counters of traces that have `first` rows at the start of each segment.
    pub(crate) fn new(first: Vec<u32>, config: &MemoryConfig) -> Self {
        let mut rows = Self {
            heights: first.clone(),
            memory: MemoryRows::new(config, first.len()),
            first,
            weight: 0,
        };
        rows.restart();
        rows
    }

    /// Counters of one trace, to which executors report all rows: nobody reads them.
    pub(crate) fn uncounted(config: &MemoryConfig) -> Self {
        Self::new(vec![0], config)
    }

    /// Begins a segment.
    pub fn restart(&mut self) {
        self.heights.copy_from_slice(&self.first);
        self.memory.restart();
    }

    /// Adds rows to a trace.
    #[inline(always)]
    pub(super) fn add(&mut self, air: usize, rows: u32) {
        // Uncounted rows of a long execution may be more than a counter holds.
        self.heights[air] = self.heights[air].wrapping_add(rows);
    }

    /// Writes the heights to `heights`, which has one for each AIR.
    pub(crate) fn write_heights(&self, heights: &mut [u32]) {
        heights.copy_from_slice(&self.heights);
        self.memory.add_to(heights);
    }

    /// Number of pages that the segment touched.
    pub fn touched_pages(&self) -> u32 {
        self.memory.touched.len() as u32
    }

    /// Cells of the pages that the segment touched, each once, by address space.
    pub(crate) fn touched(&self) -> impl Iterator<Item = (u32, Range<u32>)> + '_ {
        let height = self.memory.address_height;
        self.memory.touched.iter().map(move |&page| {
            let leaf = u64::from(page) << PAGE_BITS;
            let first = (leaf & ((1 << height) - 1)) as u32 * CHUNK as u32;
            let address_space = (leaf >> height) as u32 + ADDR_SPACE_OFFSET;
            (address_space, first..first + PAGE_CELLS)
        })
    }

    /// Rows that a page adds to the traces of memory, as `(AIR, rows)`.
    pub fn page_rows(&self) -> [(usize, u32); 3] {
        let mut heights = vec![0; self.heights.len()];
        self.memory.add_to(&mut heights);
        let pages = self.memory.touched.len() as u32;
        [BOUNDARY_AIR_ID, MERKLE_AIR_ID, self.memory.poseidon2]
            .map(|air| (air, heights[air] / pages))
    }

    /// Takes the weight of what was reported: rows of OpenVM's executors, and [`PAGE_WEIGHT`] for each new page.
    pub(super) fn take_weight(&mut self) -> u64 {
        std::mem::take(&mut self.weight)
    }

    /// The bits of all pages, and the first page of an address space. A page that is new is reported by [`touch`](Self::touch).
    pub(super) fn page_bits(&mut self, address_space: u32) -> (&mut [u64], u32) {
        let first = self.memory.page(address_space, 0);
        (&mut self.memory.bits, first)
    }

    /// Notes an access to a page.
    #[inline(always)]
    pub(super) fn touch(&mut self, page: u32) {
        if self.memory.touch(page) {
            self.weight += PAGE_WEIGHT;
        }
    }
}

impl ExecutionCtxTrait for Rows {
    #[inline(always)]
    fn on_memory_operation(&mut self, address_space: u32, ptr: u32, size: u32) {
        if address_space == REGISTERS {
            return;
        }
        let [first, last] =
            [ptr, ptr + (size - 1)].map(|cell| self.memory.page(address_space, cell));
        for page in first..=last {
            self.touch(page);
        }
    }

    /// False always: the loop counts instructions.
    fn should_suspend<F>(_: &mut VmExecState<F, GuestMemory, Self>) -> bool {
        false
    }
}

impl MeteredExecutionCtxTrait for Rows {
    #[inline(always)]
    fn on_height_change(&mut self, air: usize, rows: u32) {
        // Executors with traces for parts of an instruction report rows of AIRs beside theirs: uncounted, there may be none.
        if let Some(height) = self.heights.get_mut(air) {
            *height = height.wrapping_add(rows);
        }
        self.weight += u64::from(rows);
    }
}
