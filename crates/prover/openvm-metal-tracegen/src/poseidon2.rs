//! Compressions that OpenVM's Poseidon2 chip proves.

use openvm_circuit::system::poseidon2::{
    columns::Poseidon2PeripheryCols, Poseidon2PeripheryChip, PERIPHERY_POSEIDON2_WIDTH,
};
use p3_baby_bear::BabyBear as F;

/// Columns without and with those for the cubes of S-boxes, as the kernel writes them.
const COLUMNS: [usize; 2] = [159, 300];

const _: () = {
    assert!(Poseidon2PeripheryCols::<u8, 0>::width() == COLUMNS[0]);
    assert!(Poseidon2PeripheryCols::<u8, 1>::width() == COLUMNS[1]);
};

/// Different inputs of the permutation, and how often each is looked up.
#[derive(Clone, Debug, Default)]
pub struct Permutations {
    /// Inputs, in the order of the trace's rows.
    pub inputs: Vec<[F; PERIPHERY_POSEIDON2_WIDTH]>,
    /// Lookups of each input.
    pub lookups: Vec<u32>,
    /// True if the trace has a column for the cube of each S-box.
    pub cubes: bool,
}

impl Permutations {
    /// Bytes for each permutation while they are put in order: as listed and in order, a hash and an index, lookups.
    pub const HOST_BYTES: u64 = 2 * 64 + 16 + 4;

    /// None, for the trace of a chip.
    pub fn none_of(chip: &Poseidon2PeripheryChip<F>) -> Self {
        Self {
            cubes: matches!(chip, Poseidon2PeripheryChip::Register1(_)),
            ..Self::default()
        }
    }

    /// Columns of the trace.
    pub fn columns(&self) -> usize {
        COLUMNS[self.cubes as usize]
    }
}
