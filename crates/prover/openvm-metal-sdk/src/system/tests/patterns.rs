//! Random accesses to random address spaces.

use openvm_circuit::{
    arch::{AddressSpaceHostConfig, MemoryCellType, MemoryConfig, DEFAULT_BLOCK_SIZE},
    system::memory::online::TracingMemory,
};
use p3_baby_bear::BabyBear as F;
use p3_field::PrimeCharacteristicRing;
use rand::{rngs::StdRng, Rng};

/// Eight address spaces of `2^pointer_max_bits` cells at most: registers, memory, public values,
/// field elements, 16-bit and 32-bit integers, and a space whose last leaf is not whole.
pub fn config(pointer_max_bits: usize) -> MemoryConfig {
    let mut config = MemoryConfig::default();
    let most = 1 << pointer_max_bits;
    let space = |cells: usize, layout| AddressSpaceHostConfig::new(cells.min(most), layout);
    config.addr_spaces[1] = space(128, MemoryCellType::U8);
    config.addr_spaces[2] = space(most, MemoryCellType::U8);
    config.addr_spaces[3] = space(32, MemoryCellType::U8);
    config.addr_spaces[4] = space(1 << 13, MemoryCellType::field32());
    config.addr_spaces[5] = space(3000, MemoryCellType::U16);
    config.addr_spaces[6] = space(most, MemoryCellType::U32);
    config.addr_spaces[7] = space(1004, MemoryCellType::U8);
    config.pointer_max_bits = pointer_max_bits;
    config
}

/// Choice of a segment's addresses.
#[derive(Clone, Copy, Debug)]
pub enum Pattern {
    Nothing,
    /// Consecutive blocks from anywhere.
    Dense,
    /// Anywhere in the space.
    Sparse,
    /// The first leaves.
    Low,
    /// The last leaves.
    High,
    /// A few blocks in one place, again and again.
    Hot,
}

const PATTERNS: [Pattern; 6] = [
    Pattern::Nothing,
    Pattern::Dense,
    Pattern::Sparse,
    Pattern::Low,
    Pattern::High,
    Pattern::Hot,
];

/// Runs random accesses: each address space has a pattern of its own.
pub fn random_accesses(rng: &mut StdRng, memory: &mut TracingMemory, most_blocks: usize) {
    let spaces = memory.data().memory.config.clone();
    let only = rng
        .random_bool(0.2)
        .then(|| rng.random_range(1..spaces.len()));
    let writes = [0.0, 0.5, 1.0][rng.random_range(0..3)];
    let zeros = [0.0, 0.3, 1.0][rng.random_range(0..3)];
    for (address_space, space) in spaces.iter().enumerate().skip(1) {
        // The chips cannot hold the cells behind the last whole leaf.
        let blocks = space.num_cells / 8 * 8 / DEFAULT_BLOCK_SIZE;
        if blocks == 0 || only.is_some_and(|only| only != address_space) {
            continue;
        }
        let pattern = PATTERNS[rng.random_range(0..PATTERNS.len())];
        let start = rng.random_range(0..blocks);
        let count = rng.random_range(0..=most_blocks.min(2 * blocks));
        for i in 0..count {
            let block = match pattern {
                Pattern::Nothing => break,
                Pattern::Dense => (start + i) % blocks,
                Pattern::Sparse => rng.random_range(0..blocks),
                Pattern::Low => rng.random_range(0..blocks.min(8)),
                Pattern::High => blocks - 1 - rng.random_range(0..blocks.min(8)),
                Pattern::Hot => (start + rng.random_range(0..3)) % blocks,
            };
            let zero = rng.random_bool(zeros);
            let value: [u32; DEFAULT_BLOCK_SIZE] =
                std::array::from_fn(|_| if zero { 0 } else { rng.random() });
            let write = rng.random_bool(writes).then_some(value);
            access(memory, address_space as u32, block, write);
        }
    }
}

/// Reads a block of four cells, or writes it.
pub fn access(
    memory: &mut TracingMemory,
    address_space: u32,
    block: usize,
    write: Option<[u32; DEFAULT_BLOCK_SIZE]>,
) {
    let pointer = (block * DEFAULT_BLOCK_SIZE) as u32;
    let layout = memory.data().memory.config[address_space as usize].layout;
    macro_rules! run {
        ($type:ty, $cell:expr) => {
            // SAFETY: the type is that of the space's cells, and the block lies in the space.
            unsafe {
                match write {
                    Some(cells) => {
                        let cells = cells.map($cell);
                        let _ = memory.write::<$type, DEFAULT_BLOCK_SIZE>(
                            address_space,
                            pointer,
                            cells,
                        );
                    }
                    None => {
                        let _ = memory.read::<$type, DEFAULT_BLOCK_SIZE>(address_space, pointer);
                    }
                }
            }
        };
    }
    match layout {
        MemoryCellType::Null => unreachable!("no accesses to null cells"),
        MemoryCellType::U8 => run!(u8, |cell| cell as u8),
        MemoryCellType::U16 => run!(u16, |cell| cell as u16),
        MemoryCellType::U32 => run!(u32, |cell| cell),
        MemoryCellType::F { .. } => run!(F, F::from_u32),
    }
}
